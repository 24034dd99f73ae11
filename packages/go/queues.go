package pumphouse

import (
	"context"
	"encoding/json"
	"time"
)

const (
	// maxDrainWait is the longest wait of a drain that the server takes.
	maxDrainWait = time.Minute
	// purgeTime is how long the server may work at a purge.
	purgeTime = 5 * time.Second
)

// QueueDetails is a queue with its settings; nil = none.
type QueueDetails struct {
	Queue string `json:"queue"`
	// Exists is false if it has neither jobs nor settings.
	Exists bool `json:"exists"`
	// Length counts jobs that have not ended, Work those for workers now: ready, held and leased ones.
	Length int `json:"length"`
	Work   int `json:"work"`
	// Workers are sessions that are not lost and lease from it.
	Workers int `json:"workers"`
	// Counts are jobs by state; stuck, stalled and recurring count beside the states.
	Counts           map[string]int `json:"counts"`
	PausedAt         *time.Time     `json:"paused_at"`
	DrainingAt       *time.Time     `json:"draining_at"`
	MaxRunning       *int           `json:"max_running"`
	MaxRunningPerKey *int           `json:"max_running_per_key"`
	Rate             *Rate          `json:"rate"`
	RatePerKey       *Rate          `json:"rate_per_key"`
	// Defaults are options of jobs that a publish or lease leaves out, as in the API.
	Defaults json.RawMessage `json:"defaults"`
	// MaxKept is how many done and cancelled jobs are kept.
	MaxKept      *int   `json:"max_kept"`
	IndexTags    bool   `json:"index_tags"`
	LeaseGraceMs *int64 `json:"lease_grace_ms"`
	// Expired is where jobs go in the ready list whose lease has expired: back or front.
	Expired string `json:"expired"`
	// Fair is true or false, or the weights of fair keys, as in the API.
	Fair json.RawMessage `json:"fair"`
	// Order is "strict" if a job of a concurrency key waits until all that were ready earlier have ended; else nil.
	Order *string `json:"order"`
	// OnDead says what a strict order does after a job has died: continue or block.
	OnDead string `json:"on_dead"`
	// Redact are JSON paths of the data that accounts below the role admin do not see; nil: none.
	Redact []string `json:"redact"`
	Push   *Push    `json:"push"`
	// PauseEndsAt is when the pause ends by itself; nil: when it is resumed.
	PauseEndsAt *time.Time `json:"pause_ends_at"`
	// Pauses are those of some of its jobs.
	Pauses []JobsPause `json:"pauses"`
	// Types have ready jobs. Only of Queue, from the first lease by type on.
	Types []QueueType `json:"types"`
}

// QueueType is a type with ready jobs, and the lease requests that take them.
type QueueType struct {
	// Type is nil for jobs without a type.
	Type  *string `json:"type"`
	Ready int     `json:"ready"`
	// FirstReadyAt is since when the first of them is ready; nil: not known.
	FirstReadyAt *time.Time `json:"first_ready_at"`
	// LastRequestAt is when a lease request took such jobs last; nil: none is known.
	LastRequestAt *time.Time `json:"last_request_at"`
}

// Rate is a rate of leases: Rate in PeriodMs, and Burst at once after a pause.
type Rate struct {
	Rate     int   `json:"rate"`
	PeriodMs int64 `json:"period_ms"`
	Burst    int   `json:"burst,omitempty"`
}

// Push is how servers with push.enabled push the jobs of a queue.
type Push struct {
	Target string `json:"target"`
}

// QueueSettings are settings to change, by their names in the API: {"max_running": 20, "rate": nil}. What is left out stays, nil
// sets the default.
type QueueSettings map[string]any

// PurgedQueue says how many jobs a purge deleted, by state. If it is not Complete, call it again.
type PurgedQueue struct {
	Jobs     map[string]int `json:"jobs"`
	DryRun   bool           `json:"dry_run"`
	Complete bool           `json:"complete"`
}

// Queues returns a page of the queues.
func (c *Client) Queues(ctx context.Context, page PageOptions) (*Page[QueueDetails], error) {
	return fetch[Page[QueueDetails]](ctx, c, getCall("queues", queryValues{}.page(page)), nil)
}

// EachQueue calls visit with the queues of all pages, until it returns an error.
func (c *Client) EachQueue(ctx context.Context, visit func(*QueueDetails) error) error {
	return each("", func(cursor string) (*Page[QueueDetails], error) {
		return c.Queues(ctx, PageOptions{Cursor: cursor})
	}, visit)
}

// Queue returns a queue. Any legal name has an answer: Exists says whether there is such a queue.
func (c *Client) Queue(ctx context.Context, name string) (*QueueDetails, error) {
	return fetch[QueueDetails](ctx, c, getCall(pathOf("queues", name), nil), nil)
}

// ExplainQueue says why a queue gives no jobs; flowing: nothing holds them back.
func (c *Client) ExplainQueue(ctx context.Context, name string) (*Explanation, error) {
	return fetch[Explanation](ctx, c, getCall(pathOf("queues", name, "explain"), nil), nil)
}

// UpdateQueue changes settings.
func (c *Client) UpdateQueue(ctx context.Context, name string, settings QueueSettings) (*QueueDetails, error) {
	return fetch[QueueDetails](ctx, c, call{method: "PATCH", path: pathOf("queues", name), isRepeatable: true}, settings)
}

// DeleteQueue forgets an empty queue and its settings. Codes of its errors are queue_not_empty and queue_not_found.
func (c *Client) DeleteQueue(ctx context.Context, name string) error {
	return c.remove(ctx, pathOf("queues", name), nil)
}

// PauseQueue stops leases of its jobs until it is resumed; publishes continue.
func (c *Client) PauseQueue(ctx context.Context, name string) (*QueueDetails, error) {
	return fetch[QueueDetails](ctx, c, postCall(pathOf("queues", name, "pause")), members{})
}

// SomeJobs are those of a type, those without one, those with a fair key, or those with a concurrency key: one of the four.
type SomeJobs struct {
	Type           string
	WithoutType    bool
	FairKey        string
	ConcurrencyKey string
}

func (s SomeJobs) members() members {
	m := members{}
	m.text("type", s.Type)
	m.text("fair_key", s.FairKey)
	m.text("concurrency_key", s.ConcurrencyKey)
	if s.WithoutType {
		m["type"] = nil
	}
	return m
}

// PauseOptions say what is paused, why and for how long; without a type and a key the whole queue.
type PauseOptions struct {
	SomeJobs
	Note string
	// For is when the pause ends by itself; 0: when it is resumed.
	For time.Duration
}

// JobsPause is a pause of some jobs of a queue. Without a type and a key it is that of jobs without a type.
type JobsPause struct {
	Type           *string    `json:"type"`
	FairKey        *string    `json:"fair_key"`
	ConcurrencyKey *string    `json:"concurrency_key"`
	PausedAt       time.Time  `json:"paused_at"`
	PausedBy       *string    `json:"paused_by"`
	Note           *string    `json:"note"`
	EndsAt         *time.Time `json:"ends_at"`
}

// PauseJobs pauses some jobs of a queue, or all, with a note and an end.
func (c *Client) PauseJobs(ctx context.Context, name string, options PauseOptions) (*QueueDetails, error) {
	m := options.members()
	m.text("note", options.Note)
	m.duration("for_ms", options.For)
	return fetch[QueueDetails](ctx, c, postCall(pathOf("queues", name, "pause")), m)
}

// ResumeJobs ends the pause of some jobs of a queue.
func (c *Client) ResumeJobs(ctx context.Context, name string, jobs SomeJobs) (*QueueDetails, error) {
	return fetch[QueueDetails](ctx, c, postCall(pathOf("queues", name, "resume")), jobs.members())
}

// ResumeQueue ends a pause or a drain.
func (c *Client) ResumeQueue(ctx context.Context, name string) (*QueueDetails, error) {
	return fetch[QueueDetails](ctx, c, postCall(pathOf("queues", name, "resume")), members{})
}

// DrainQueue refuses new jobs until the queue is empty, and waits so long for that, a minute at most.
func (c *Client) DrainQueue(ctx context.Context, name string, wait time.Duration) (*QueueDetails, error) {
	if wait > maxDrainWait {
		wait = maxDrainWait
	}
	drain := postCall(pathOf("queues", name, "drain"))
	drain.wait = wait
	return fetch[QueueDetails](ctx, c, drain, members{"wait_ms": roundedUp(wait)})
}

// PurgeQueue deletes all jobs in these states; dryRun only counts them. Call it again until the answer is Complete, or after a lost
// answer.
func (c *Client) PurgeQueue(ctx context.Context, name string, states []string, dryRun bool) (*PurgedQueue, error) {
	purge := postCall(pathOf("queues", name, "purge"))
	purge.wait = purgeTime
	// After a lost answer it would delete what came later, and count that alone.
	purge.isRepeatable = dryRun
	return fetch[PurgedQueue](ctx, c, purge, members{"states": states, "dry_run": dryRun})
}
