package pumphouse

import (
	"context"
	"errors"
	"time"
)

// DeadFilter says which dead jobs; all that is given must hold. The zero value is for all of the namespace.
type DeadFilter struct {
	Queue, Type, Tag string
	// Group is the failure group.
	Group string
	// Text is a part of the failure's message.
	Text       string
	Attributes map[string]string
	// From and To are when they died.
	From, To time.Time
}

// MarshalJSON writes the filter as the API takes it.
func (f DeadFilter) MarshalJSON() ([]byte, error) {
	m := members{}
	m.text("queue", f.Queue)
	m.text("group", f.Group)
	m.text("type", f.Type)
	m.text("tag", f.Tag)
	m.text("text", f.Text)
	m.put("attributes", f.Attributes, len(f.Attributes) > 0)
	m.moment("from", f.From)
	m.moment("to", f.To)
	return encode(m)
}

// DeadListFilter says which dead jobs a list has; it takes one attribute at most.
type DeadListFilter struct {
	DeadFilter
	// Order is oldest or newest.
	Order string
	PageOptions
}

// DeadJobs returns a page of dead jobs.
func (c *Client) DeadJobs(ctx context.Context, filter DeadListFilter) (*Page[JobDetails], error) {
	if len(filter.Attributes) > 1 {
		return nil, errors.New("pumphouse: Attributes: a list of dead jobs takes one")
	}
	query := queryValues{}.page(filter.PageOptions)
	query.set("queue", filter.Queue)
	query.set("group", filter.Group)
	query.set("type", filter.Type)
	query.set("tag", filter.Tag)
	query.set("text", filter.Text)
	query.set("order", filter.Order)
	for name, value := range filter.Attributes {
		query.set("attribute", name+"="+value)
	}
	query.moment("from", filter.From)
	query.moment("to", filter.To)
	return fetch[Page[JobDetails]](ctx, c, getCall("dead-letter", query), nil)
}

// EachDeadJob calls visit with the dead jobs of all pages, until it returns an error.
func (c *Client) EachDeadJob(ctx context.Context, filter DeadListFilter, visit func(*JobDetails) error) error {
	return each(filter.Cursor, func(cursor string) (*Page[JobDetails], error) {
		filter.Cursor = cursor
		return c.DeadJobs(ctx, filter)
	}, visit)
}

// FailureGroup is dead jobs with the same group of their failure.
type FailureGroup struct {
	Name string `json:"name"`
	// Jobs is how many.
	Jobs int `json:"jobs"`
	// FirstAt and LastAt are when the first and the last of them died.
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	// Sample is the job that died last; nil if it cannot be read.
	Sample *FailureSample `json:"sample"`
	// Trend is how many died in each hour of the last day, UTC: 24 numbers, that of the current hour last.
	Trend []int `json:"trend"`
}

// FailureSample is the job of a failure group that died last.
type FailureSample struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	// Message is the beginning of its error message.
	Message string `json:"message"`
}

// FailureGroups returns a page of the failure groups of dead jobs, those first that most jobs have.
func (c *Client) FailureGroups(ctx context.Context, page PageOptions) (*Page[FailureGroup], error) {
	return fetch[Page[FailureGroup]](ctx, c, getCall("failure-groups", queryValues{}.page(page)), nil)
}

// EachFailureGroup calls visit with the failure groups of all pages, until it returns an error.
func (c *Client) EachFailureGroup(ctx context.Context, visit func(*FailureGroup) error) error {
	return each("", func(cursor string) (*Page[FailureGroup], error) {
		return c.FailureGroups(ctx, PageOptions{Cursor: cursor})
	}, visit)
}

// DeadSelection says which dead jobs a call changes. It has a Filter, or IDs, or both.
type DeadSelection struct {
	// Filter: &DeadFilter{} is for all dead jobs of the namespace.
	Filter *DeadFilter
	IDs    []string
	// DryRun only counts them.
	DryRun bool
	// Limit is how many at most; 0 = all.
	Limit int
	// Cursor is the NextCursor of the answer before.
	Cursor string
}

func (s DeadSelection) members() (members, error) {
	if s.Filter == nil && s.IDs == nil {
		return nil, errors.New("pumphouse: give a Filter, or IDs; an empty Filter is for all dead jobs")
	}
	m := members{"dry_run": s.DryRun}
	m.put("filter", s.Filter, s.Filter != nil)
	m.put("ids", s.IDs, s.IDs != nil)
	m.put("limit", s.Limit, s.Limit != 0)
	m.text("cursor", s.Cursor)
	return m, nil
}

// RespawnOptions say which dead jobs are made ready, and with how many tries.
type RespawnOptions struct {
	DeadSelection
	// Tries is their new number of tries; 0 = that of their publish.
	Tries int
	// KeepTries: they keep the tries that they had left, at least 1.
	KeepTries bool
	// TTL is from now on; 0 = they do not expire.
	TTL time.Duration
}

// DeadOutcome is what a call did to how many dead jobs. With a NextCursor there are more: call it again with that as Cursor.
type DeadOutcome struct {
	Jobs       int    `json:"jobs"`
	DryRun     bool   `json:"dry_run"`
	NextCursor string `json:"next_cursor"`
}

// RespawnDeadJobs makes dead jobs ready again, as new. After a lost answer it is not tried again.
func (c *Client) RespawnDeadJobs(ctx context.Context, options RespawnOptions) (*DeadOutcome, error) {
	return c.changeDead(ctx, "respawn", options, "")
}

// MoveDeadJobs makes dead jobs ready in another queue, as new. After a lost answer it is not tried again.
func (c *Client) MoveDeadJobs(ctx context.Context, toQueue string, options RespawnOptions) (*DeadOutcome, error) {
	return c.changeDead(ctx, "move", options, toQueue)
}

// DeleteDeadJobs deletes dead jobs. After a lost answer it is not tried again.
func (c *Client) DeleteDeadJobs(ctx context.Context, selection DeadSelection) (*DeadOutcome, error) {
	return c.changeDead(ctx, "delete", RespawnOptions{DeadSelection: selection}, "")
}

func (c *Client) changeDead(ctx context.Context, what string, options RespawnOptions, toQueue string) (*DeadOutcome, error) {
	m, err := options.members()
	if err != nil {
		return nil, err
	}
	m.text("to_queue", toQueue)
	m.put("tries", options.Tries, options.Tries != 0)
	m.put("keep_tries", true, options.KeepTries)
	m.ttl(options.TTL)
	// What came back is dead no more; but its second count would be too low.
	change := call{method: "POST", path: pathOf("dead-letter", what), isRepeatable: options.DryRun}
	return fetch[DeadOutcome](ctx, c, change, m)
}
