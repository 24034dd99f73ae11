package pumphouse

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

const (
	// The pause between two looks at an operation is firstLook at first, then half as long again each time, up to maxLook.
	firstLook = 100 * time.Millisecond
	maxLook   = 2 * time.Second
)

// OperationFilter says which jobs an operation acts on; all that is given must hold. The zero value is for all of the namespace.
type OperationFilter struct {
	Queue string
	// State: without one, it is for the states of the action.
	State             []string
	Tag, Type, Worker string
	// Group is the failure group of dead jobs, Text a part of their failure's message; From and To are when they died.
	Group, Text string
	Attributes  map[string]string
	From, To    time.Time
}

// MarshalJSON writes the filter as the API takes it.
func (f OperationFilter) MarshalJSON() ([]byte, error) {
	m := members{}
	m.text("queue", f.Queue)
	m.put("state", f.State, len(f.State) > 0)
	m.text("tag", f.Tag)
	m.text("type", f.Type)
	m.text("worker", f.Worker)
	m.text("group", f.Group)
	m.text("text", f.Text)
	m.put("attributes", f.Attributes, len(f.Attributes) > 0)
	m.moment("from", f.From)
	m.moment("to", f.To)
	return encode(m)
}

// NewOperation is an operation to start. Zero fields do not count.
type NewOperation struct {
	// Action is cancel, delete, respawn, retry, move or patch.
	Action string
	// Filter says which jobs: &OperationFilter{} is for all of the namespace.
	Filter *OperationFilter
	// DryRun only counts them, with samples.
	DryRun bool
	// RatePerS is how many jobs per second at most; 0 = no limit.
	RatePerS int
	// To is of move: the other queue.
	To string
	// Set is of patch: what changes.
	Set *JobChange
	// Cascade and Grace are of cancel, as those of CancelJob.
	Cascade bool
	Grace   *time.Duration
	// Tries, KeepTries and TTL are of respawn, and of move of dead jobs, as those of RespawnDeadJobs.
	Tries     int
	KeepTries bool
	TTL       time.Duration
	// Undo is of cancel and delete: for how long after its end UndoOperation is possible; 1 minute to 24 hours. 0 = not at all.
	Undo time.Duration
	// IdempotencyKey: a second start with the key is the first one; it counts for a day. "" = none.
	IdempotencyKey string
}

// MarshalJSON writes the operation as the API takes it.
func (o NewOperation) MarshalJSON() ([]byte, error) {
	m := members{"action": o.Action, "filter": o.Filter, "dry_run": o.DryRun}
	m.put("rate_per_s", o.RatePerS, o.RatePerS != 0)
	m.text("to", o.To)
	m.put("set", o.Set, o.Set != nil)
	m.put("cascade", true, o.Cascade)
	if o.Grace != nil {
		m["grace_ms"] = roundedUp(*o.Grace)
	}
	m.put("tries", o.Tries, o.Tries != 0)
	m.put("keep_tries", true, o.KeepTries)
	m.ttl(o.TTL)
	if o.Undo != 0 {
		m["undo_ms"] = roundedUp(o.Undo)
	}
	return encode(m)
}

// Operation is an action of the server over all jobs that a filter matches.
type Operation struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	// Filter is as in the API, with the states that it acts on.
	Filter   json.RawMessage `json:"filter"`
	DryRun   bool            `json:"dry_run"`
	RatePerS int             `json:"rate_per_s"`
	To       string          `json:"to"`
	// Set is as in the API; nil if the action is not patch.
	Set json.RawMessage `json:"set"`
	// State is running, done or stopped.
	State string `json:"state"`
	// Reason is why it was stopped: stopped (by a call), token_revoked, rights_changed, pool_moving or store_full. Message is a
	// sentence on it.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Matched counts jobs that matched so far: done, failed and skipped ones; of a dry run, those that would be acted on.
	Matched int `json:"matched"`
	Done    int `json:"done"`
	// Failed: the single call would refuse them.
	Failed int `json:"failed"`
	// Skipped: they have changed since the operation began, or there was nothing to do.
	Skipped  int                `json:"skipped"`
	Refusals []OperationRefusal `json:"refusals"`
	// Looked counts entries that were read, ToLook those that there were when it began; nil = not known.
	Looked int  `json:"looked"`
	ToLook *int `json:"to_look"`
	// Samples are the first five jobs that matched.
	Samples   []OperationSample `json:"samples"`
	CreatedAt time.Time         `json:"created_at"`
	// CreatedBy has the first characters of the token.
	CreatedBy string     `json:"created_by"`
	EndedAt   *time.Time `json:"ended_at"`
	// NextAt is when it goes on, with RatePerS.
	NextAt *time.Time `json:"next_at"`
	// Undo is nil if it was started without Undo, or if the server is of an earlier version.
	Undo *OperationUndo `json:"undo"`
}

// HasEnded is true if it goes on no more, and neither does its undo.
func (o Operation) HasEnded() bool {
	return o.State != "running" && (o.Undo == nil || o.Undo.State != "running")
}

// OperationUndo is what can be brought back of the jobs that an operation has ended, and what is.
type OperationUndo struct {
	// State is kept: it can be undone; dropped or expired: it cannot any more; running, done or stopped: that of its undo.
	State string `json:"state"`
	// EndsAt is until when an undo can begin; nil = the operation runs.
	EndsAt *time.Time `json:"ends_at"`
	// Jobs are kept, or were.
	Jobs     int `json:"jobs"`
	Restored int `json:"restored"`
	Failed   int `json:"failed"`
	// Refusals say why jobs cannot come back, Incomplete what does not come back of jobs that are back.
	Refusals   []OperationRefusal `json:"refusals"`
	Incomplete []OperationRefusal `json:"incomplete"`
	// Message is why it was stopped, or is not possible any more.
	Message string `json:"message"`
}

// OperationRefusal says why jobs were not acted on: changed, has_dependents, unique_key_taken … Later servers have more.
type OperationRefusal struct {
	Reason string `json:"reason"`
	Jobs   int    `json:"jobs"`
}

// OperationSample is a job that matched, with its state before the operation.
type OperationSample struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	State string `json:"state"`
}

// StartOperation starts an operation, which the server goes on with by itself; WaitOperation waits for its end. Codes of its errors
// are too_many_operations, verb_missing, queue_not_allowed, store_full and pool_moving.
func (c *Client) StartOperation(ctx context.Context, operation NewOperation) (*Operation, error) {
	if operation.Filter == nil {
		return nil, errors.New("pumphouse: give a Filter; an empty one is for all jobs of the namespace")
	}
	header := map[string]string{"Idempotency-Key": operation.IdempotencyKey}
	if operation.IdempotencyKey == "" {
		header["Idempotency-Key"] = randomHex(16)
		header["Idempotency-TTL-Ms"] = strconv.FormatInt(roundedUp(ownKeyTTL(c.limits, 0)), 10)
	}
	start := postCall("operations")
	start.header = header
	return fetch[Operation](ctx, c, start, operation)
}

// Operations returns a page of the operations of the last seven days, the newest first.
func (c *Client) Operations(ctx context.Context, page PageOptions) (*Page[Operation], error) {
	return fetch[Page[Operation]](ctx, c, getCall("operations", queryValues{}.page(page)), nil)
}

// EachOperation calls visit with the operations of all pages, until it returns an error.
func (c *Client) EachOperation(ctx context.Context, visit func(*Operation) error) error {
	return each("", func(cursor string) (*Page[Operation], error) {
		return c.Operations(ctx, PageOptions{Cursor: cursor})
	}, visit)
}

// Operation returns an operation. The code of its error is operation_not_found if there is none; so it is of the calls below.
func (c *Client) Operation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, getCall(pathOf("operations", id), nil), nil)
}

// StopOperation stops an operation: what it has done stays. One that has ended stays as it is.
func (c *Client) StopOperation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, postCall(pathOf("operations", id, "stop")), nil)
}

// UndoOperation begins to bring back the jobs that an operation with Undo has ended; WaitOperation waits for the end of that, too. Codes
// of its errors are operation_running, until it is stopped, and undo_gone, if nothing is kept.
func (c *Client) UndoOperation(ctx context.Context, id string) (*Operation, error) {
	return fetch[Operation](ctx, c, postCall(pathOf("operations", id, "undo")), nil)
}

// WaitOperation waits for the end of an operation, or of its undo. onProgress, unless it is nil, gets the operation after each look at it. When the
// context ends, it returns the error of that, with the operation as it was seen last; the operation goes on.
func (c *Client) WaitOperation(ctx context.Context, id string, onProgress func(*Operation)) (*Operation, error) {
	var last *Operation
	for pause := firstLook; ; pause += pause / 2 {
		operation, err := c.Operation(ctx, id)
		if err != nil {
			return last, err
		}
		last = operation
		if onProgress != nil {
			onProgress(operation)
		}
		if operation.HasEnded() {
			return operation, nil
		}
		if pause > maxLook {
			pause = maxLook
		}
		if !sleep(ctx, pause) {
			return last, ctx.Err()
		}
	}
}
