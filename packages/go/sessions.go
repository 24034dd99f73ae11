package pumphouse

import (
	"context"
	"time"
)

// WorkerSession is a worker session; or, with zero values in what only a session has, a worker that is known by its name only.
type WorkerSession struct {
	// Name is of a session its id.
	Name   string    `json:"name"`
	SeenAt time.Time `json:"seen_at"`
	// Leased counts jobs with a history that it has leased, Stalled those of them whose lease has ended.
	Leased      int        `json:"leased"`
	Stalled     int        `json:"stalled"`
	DisplayName string     `json:"display_name"`
	Host        string     `json:"host"`
	PID         int        `json:"pid"`
	Version     string     `json:"version"`
	Language    string     `json:"language"`
	Queues      []string   `json:"queues"`
	Concurrency int        `json:"concurrency"`
	JobsAtHand  int        `json:"jobs_at_hand"`
	StartedAt   *time.Time `json:"started_at"`
	HeartbeatAt *time.Time `json:"heartbeat_at"`
	// Quiet: it was asked to lease nothing more. Stop: to shut down.
	Quiet bool `json:"quiet"`
	Stop  bool `json:"stop"`
	// Lost: it sent no heartbeat for as long as its leases last.
	Lost bool `json:"lost"`
}

// Workers returns a page of the worker sessions, and of other workers that lease jobs under a name.
func (c *Client) Workers(ctx context.Context, page PageOptions) (*Page[WorkerSession], error) {
	return fetch[Page[WorkerSession]](ctx, c, getCall("workers", queryValues{}.page(page)), nil)
}

// EachWorker calls visit with the workers of all pages, until it returns an error.
func (c *Client) EachWorker(ctx context.Context, visit func(*WorkerSession) error) error {
	return each("", func(cursor string) (*Page[WorkerSession], error) {
		return c.Workers(ctx, PageOptions{Cursor: cursor})
	}, visit)
}

// Worker returns a worker by its name; a session by its id. The code of its error is worker_not_found if there is none; so it is of
// the calls below.
func (c *Client) Worker(ctx context.Context, name string) (*WorkerSession, error) {
	return fetch[WorkerSession](ctx, c, getCall(pathOf("workers", name), nil), nil)
}

// QuietWorker asks a session to lease nothing more. Its next heartbeat tells it.
func (c *Client) QuietWorker(ctx context.Context, name string) error {
	return c.send(ctx, postCall(pathOf("workers", name, "quiet")), nil)
}

// StopWorker asks a session to shut down: Stop of that worker.
func (c *Client) StopWorker(ctx context.Context, name string) error {
	return c.send(ctx, postCall(pathOf("workers", name, "stop")), nil)
}

// DeleteWorker forgets a worker until it is heard of again; its leases stay.
func (c *Client) DeleteWorker(ctx context.Context, name string) error {
	return c.remove(ctx, pathOf("workers", name), nil)
}

// StatisticsFilter says of what statistics are.
type StatisticsFilter struct {
	// Queue is "" for all of the namespace together.
	Queue string
	// Day is as 2026-11-21, in UTC; "" = today.
	Day string
}

// DayStatistics are those of a day.
type DayStatistics struct {
	Queue string `json:"queue"`
	Day   string `json:"day"`
	// Waits are from publish to lease, Runs from lease to acknowledgement.
	Waits Durations `json:"waits"`
	Runs  Durations `json:"runs"`
	// Failures counts jobs that died, Retries attempts that were followed by another one.
	Failures int `json:"failures"`
	Retries  int `json:"retries"`
	// StillDead is nil without a queue.
	StillDead *int `json:"still_dead"`
}

// Durations say how long something took.
type Durations struct {
	Count  int     `json:"count"`
	MeanMs float64 `json:"mean_ms"`
	StdMs  float64 `json:"std_ms"`
	// Histogram has the bins that are not empty.
	Histogram []DurationBin `json:"histogram"`
}

// DurationBin counts durations from FromMs to ToMs; nil = no bound.
type DurationBin struct {
	Bin    string `json:"bin"`
	FromMs int64  `json:"from_ms"`
	ToMs   *int64 `json:"to_ms"`
	Count  int    `json:"count"`
}

// Statistics returns those of a queue, or of all together, on a day.
func (c *Client) Statistics(ctx context.Context, filter StatisticsFilter) (*DayStatistics, error) {
	query := queryValues{}
	query.set("queue", filter.Queue)
	query.set("day", filter.Day)
	return fetch[DayStatistics](ctx, c, getCall("stats", query), nil)
}
