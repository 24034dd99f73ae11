package pumphouse

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Job returns all that is known of a job. The code of its error is job_not_found if there is none.
func (c *Client) Job(ctx context.Context, id string) (*JobDetails, error) {
	return fetch[JobDetails](ctx, c, getCall(pathOf("jobs", id), nil), nil)
}

// JobFilter says which jobs a list has; zero fields do not count.
type JobFilter struct {
	Queue, Tag, Type, Group, Worker string
	// State has states, or "stalled" alone: the last lease ended unsettled, and no worker has leased the job since.
	State []string
	// Order is oldest or newest.
	Order string
	// IDs stand alone, or with WithData.
	IDs []string
	// WithData: the jobs have their data.
	WithData bool
	// Limit is the number of items of a page, 1 … 1,000; 100.
	Limit  int
	Cursor string
}

// Jobs returns a page of jobs.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) (*Page[JobDetails], error) {
	query := queryValues{}.page(PageOptions{filter.Limit, filter.Cursor})
	query.set("queue", filter.Queue)
	query.set("tag", filter.Tag)
	query.set("type", filter.Type)
	query.set("group", filter.Group)
	query.set("worker", filter.Worker)
	query.set("state", strings.Join(filter.State, ","))
	query.set("order", filter.Order)
	query.set("ids", strings.Join(filter.IDs, ","))
	if filter.WithData {
		query.set("fields", "data")
	}
	return fetch[Page[JobDetails]](ctx, c, getCall("jobs", query), nil)
}

// EachJob calls visit with the jobs of all pages, until it returns an error.
func (c *Client) EachJob(ctx context.Context, filter JobFilter, visit func(*JobDetails) error) error {
	return each(filter.Cursor, func(cursor string) (*Page[JobDetails], error) {
		filter.Cursor = cursor
		return c.Jobs(ctx, filter)
	}, visit)
}

// ExplainJob says why a job does not run: one cause, the facts behind it, and what removes it. The code of its error is
// job_not_found if there is no such job.
func (c *Client) ExplainJob(ctx context.Context, id string) (*Explanation, error) {
	return fetch[Explanation](ctx, c, getCall(pathOf("jobs", id, "explain"), nil), nil)
}

// PutOption is an option of PutJob.
type PutOption func(*putOptions)

type putOptions struct{ onlyNew bool }

// OnlyNew replaces no job: the code of the error is job_exists if there is one.
func OnlyNew() PutOption {
	return func(o *putOptions) { o.onlyNew = true }
}

// PutJob stores a job under an id: a new one, or in the place of one that waits. After a lost answer it is not tried again: a
// worker may have taken the job, and the same call would store it once more.
func (c *Client) PutJob(ctx context.Context, id string, job NewJob, options ...PutOption) (*PublishedJob, error) {
	var chosen putOptions
	for _, option := range options {
		option(&chosen)
	}
	put := call{method: "PUT", path: pathOf("jobs", id)}
	if chosen.onlyNew {
		put.header = map[string]string{"If-None-Match": "*"}
	}
	return fetch[PublishedJob](ctx, c, put, job)
}

// JobChange has what changes of a job that waits. Zero fields stay. Durations are rounded up to milliseconds.
type JobChange struct {
	Queue, Type string
	// Data and ContentType are as in NewJob.
	Data        any
	ContentType string
	// Delay is from now on; a pointer to 0 makes the job ready.
	Delay *time.Duration
	// DueAt is when it can be leased, in place of Delay.
	DueAt time.Time
	// TTL is from now on; Forever: it does not expire.
	TTL   time.Duration
	Tries int
	// Priority is -128 … 127; nil stays.
	Priority *int
	// Tags and DependsOn replace those that the job has; an empty list that is not nil takes them away.
	Tags, DependsOn []string
	// OnMissingDependency is ignore or refuse.
	OnMissingDependency string
	Retry               *RetryPolicy
}

// MarshalJSON writes the change as the API takes it.
func (j JobChange) MarshalJSON() ([]byte, error) {
	m := members{}
	m.text("queue", j.Queue)
	m.text("type", j.Type)
	m.data(j.Data, j.ContentType)
	if j.Delay != nil {
		m["delay_ms"] = roundedUp(*j.Delay)
	}
	m.moment("due_at", j.DueAt)
	m.ttl(j.TTL)
	m.put("tries", j.Tries, j.Tries != 0)
	m.put("priority", j.Priority, j.Priority != nil)
	m.put("tags", j.Tags, j.Tags != nil)
	m.put("depends_on", j.DependsOn, j.DependsOn != nil)
	m.text("on_missing_dependency", j.OnMissingDependency)
	m.put("retry", j.Retry, j.Retry != nil)
	return encode(m)
}

// ChangedJob is a job after a change.
type ChangedJob struct {
	ID string `json:"id"`
	// State is "" if the job is gone, because of a failed dependency.
	State string     `json:"state"`
	DueAt *time.Time `json:"due_at"`
	// MissingDependencies are ids of DependsOn that no job has: they count as done.
	MissingDependencies []string `json:"missing_dependencies"`
}

// UpdateJob changes a job that waits.
func (c *Client) UpdateJob(ctx context.Context, id string, change JobChange) (*ChangedJob, error) {
	return fetch[ChangedJob](ctx, c, call{method: "PATCH", path: pathOf("jobs", id), isRepeatable: true}, change)
}

// CancelOptions are those of CancelJob.
type CancelOptions struct {
	// Cascade: all that depend on the job are cancelled, too.
	Cascade bool
	// Grace is how long the worker of a leased job may go on; nil = the setting of the namespace.
	Grace *time.Duration
}

// CancelJob ends a job before it is done. The worker of a leased one learns it from its next heartbeat. Codes of its errors are
// job_not_found, has_dependents and job_done.
func (c *Client) CancelJob(ctx context.Context, id string, options CancelOptions) (*CancelledJob, error) {
	m := members{"cascade": options.Cascade}
	if options.Grace != nil {
		m["grace_ms"] = roundedUp(*options.Grace)
	}
	cancelled, err := fetch[CancelledJob](ctx, c, postCall(pathOf("jobs", id, "cancel")), m)
	var refused *Error
	if errors.As(err, &refused) && refused.Code == "job_not_found" && refused.mayBeDone {
		// An earlier attempt, whose answer was lost, has cancelled it.
		return &CancelledJob{ID: id, Outcome: "already_cancelled"}, nil
	}
	return cancelled, err
}

// RevokeJob ends the lease of a job, which goes back to its queue. After a lost answer it is not tried again. Codes of its errors
// are job_not_found and not_leased.
func (c *Client) RevokeJob(ctx context.Context, id string) (*ChangedJob, error) {
	return fetch[ChangedJob](ctx, c, call{method: "POST", path: pathOf("jobs", id, "revoke")}, nil)
}

// DeleteOption is an option of DeleteJob.
type DeleteOption func(*deleteOptions)

type deleteOptions struct{ force bool }

// WithForce deletes a leased job, too. Its worker learns it from its next heartbeat.
func WithForce() DeleteOption {
	return func(o *deleteOptions) { o.force = true }
}

// DeleteJob deletes a job in any state but leased; WithForce a leased one, too.
func (c *Client) DeleteJob(ctx context.Context, id string, options ...DeleteOption) error {
	var chosen deleteOptions
	for _, option := range options {
		option(&chosen)
	}
	query := queryValues{}
	if chosen.force {
		query.set("force", "true")
	}
	return c.remove(ctx, pathOf("jobs", id), query)
}

// LogJob writes a line into the timeline of a job, with data unless that is nil. After a lost answer it is not tried again.
func (c *Client) LogJob(ctx context.Context, id, message string, data any) error {
	m := members{"message": message}
	m.put("data", data, data != nil)
	text, err := encode(m)
	if err != nil {
		return err
	}
	return c.send(ctx, call{method: "POST", path: pathOf("jobs", id, "log"), body: text}, nil)
}
