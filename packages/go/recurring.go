package pumphouse

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// Schedule is one by interval, with Every, or one by a cron expression, with Cron and TimeZone. Zero fields do not count.
type Schedule struct {
	Every time.Duration
	// Offset is from now to the first slot, FirstAt that slot in its place; it may be in the past.
	Offset  time.Duration
	FirstAt time.Time
	// Cron has five fields, or six with the seconds first.
	Cron string
	// TimeZone is Europe/Berlin, UTC …
	TimeZone string
	// Jitter: each job is made up to so much later than its slot.
	Jitter time.Duration
	// StartAt: no slot before. EndAt: none from then on.
	StartAt, EndAt time.Time
}

// MarshalJSON writes the schedule as the API takes it.
func (s Schedule) MarshalJSON() ([]byte, error) {
	m := members{}
	m.duration("every_ms", s.Every)
	m.duration("offset_ms", s.Offset)
	m.moment("first_at", s.FirstAt)
	m.text("cron", s.Cron)
	m.text("tz", s.TimeZone)
	m.duration("jitter_ms", s.Jitter)
	m.moment("start_at", s.StartAt)
	m.moment("end_at", s.EndAt)
	return encode(m)
}

// UnmarshalJSON reads the schedule as the API shows it.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	var wire struct {
		EveryMs  int64     `json:"every_ms"`
		OffsetMs int64     `json:"offset_ms"`
		FirstAt  time.Time `json:"first_at"`
		Cron     string    `json:"cron"`
		TZ       string    `json:"tz"`
		JitterMs int64     `json:"jitter_ms"`
		StartAt  time.Time `json:"start_at"`
		EndAt    time.Time `json:"end_at"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*s = Schedule{
		Every: milliseconds(wire.EveryMs), Offset: milliseconds(wire.OffsetMs), FirstAt: wire.FirstAt, Cron: wire.Cron,
		TimeZone: wire.TZ, Jitter: milliseconds(wire.JitterMs), StartAt: wire.StartAt, EndAt: wire.EndAt,
	}
	return nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// NewRecurringJob is a recurring job to store. Zero fields are the defaults of the server.
type NewRecurringJob struct {
	Schedule Schedule
	// Job is that of each slot, without ID, Delay and RunAt.
	Job NewJob
	// MaxCatchUp is how many jobs at most are made for slots that were missed, as after an outage; nil = 1.
	MaxCatchUp *int
	// CatchUp: a slot that passed longer ago makes no job; 0 = no limit.
	CatchUp time.Duration
	// Overlap is what happens while the job of an earlier slot has not ended: allow, skip or replace.
	Overlap string
	// Paused: false leaves one that is replaced as it is; see [Client.ResumeRecurringJob].
	Paused bool
	// Note is why it is paused.
	Note string
}

// MarshalJSON writes the recurring job as the API takes it.
func (r NewRecurringJob) MarshalJSON() ([]byte, error) {
	m := members{"schedule": r.Schedule, "job": r.Job}
	m.put("max_catch_up", r.MaxCatchUp, r.MaxCatchUp != nil)
	m.duration("catch_up_ms", r.CatchUp)
	m.text("overlap", r.Overlap)
	m.put("paused", true, r.Paused)
	m.text("note", r.Note)
	return encode(m)
}

// RecurringChange is what changes of a recurring job, by the names of the API: {"schedule": Schedule{…}, "note": nil}. What is
// left out stays.
type RecurringChange map[string]any

// RecurringJob is a recurring job as the server shows it.
type RecurringJob struct {
	ID       string   `json:"id"`
	Schedule Schedule `json:"schedule"`
	// Job is that of each slot, as in the API.
	Job        json.RawMessage `json:"job"`
	MaxCatchUp int             `json:"max_catch_up"`
	CatchUpMs  *int64          `json:"catch_up_ms"`
	Overlap    string          `json:"overlap"`
	Paused     bool            `json:"paused"`
	Note       string          `json:"note"`
	// Made counts jobs that it made, Skipped slots that made none.
	Made     int          `json:"made"`
	Skipped  int          `json:"skipped"`
	LastSkip *SkippedSlot `json:"last_skip"`
	// NextAt is nil while it is paused, and when its schedule has ended.
	NextAt    *time.Time `json:"next_at"`
	LastAt    *time.Time `json:"last_at"`
	CreatedAt time.Time  `json:"created_at"`
}

// SkippedSlot is a slot that made no job. Reason is max_catch_up, late, overlap, quota …
type SkippedSlot struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// UpcomingSlot is a slot to come.
type UpcomingSlot struct {
	At time.Time `json:"at"`
	// Local is the local time of a cron expression, with its offset.
	Local string `json:"local"`
	// Moved: a change of the clock leaves out the local time; this is the end of the gap.
	Moved bool `json:"moved"`
}

// RecurringFilter says which recurring jobs a list has.
type RecurringFilter struct {
	// Queue is the one that they publish to; "" = any.
	Queue string
	PageOptions
}

// RecurringJobs returns a page of the recurring jobs, by id.
func (c *Client) RecurringJobs(ctx context.Context, filter RecurringFilter) (*Page[RecurringJob], error) {
	query := queryValues{}.page(filter.PageOptions)
	query.set("queue", filter.Queue)
	return fetch[Page[RecurringJob]](ctx, c, getCall("recurring", query), nil)
}

// EachRecurringJob calls visit with the recurring jobs of all pages, until it returns an error.
func (c *Client) EachRecurringJob(ctx context.Context, filter RecurringFilter, visit func(*RecurringJob) error) error {
	return each(filter.Cursor, func(cursor string) (*Page[RecurringJob], error) {
		filter.Cursor = cursor
		return c.RecurringJobs(ctx, filter)
	}, visit)
}

// RecurringJob returns a recurring job. The code of its error is recurring_not_found if there is none; so it is of the calls below.
func (c *Client) RecurringJob(ctx context.Context, id string) (*RecurringJob, error) {
	return fetch[RecurringJob](ctx, c, getCall(pathOf("recurring", id), nil), nil)
}

// ExplainRecurringJob says when the next slot is, and why the last one made no job, if it did not.
func (c *Client) ExplainRecurringJob(ctx context.Context, id string) (*Explanation, error) {
	return fetch[Explanation](ctx, c, getCall(pathOf("recurring", id, "explain"), nil), nil)
}

// PutRecurringJob stores one under an id, in the place of the one that has it: safe to call at each start of a program.
func (c *Client) PutRecurringJob(ctx context.Context, id string, job NewRecurringJob) (*RecurringJob, error) {
	return fetch[RecurringJob](ctx, c, call{method: "PUT", path: pathOf("recurring", id), isRepeatable: true}, job)
}

// UpdateRecurringJob changes what is there.
func (c *Client) UpdateRecurringJob(ctx context.Context, id string, change RecurringChange) (*RecurringJob, error) {
	return fetch[RecurringJob](ctx, c, call{method: "PATCH", path: pathOf("recurring", id), isRepeatable: true}, change)
}

// DeleteRecurringJob ends it; the jobs that it made stay.
func (c *Client) DeleteRecurringJob(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf("recurring", id), nil)
}

// PauseRecurringJob makes no jobs until it is resumed. Lists show the note until then; "" = none.
func (c *Client) PauseRecurringJob(ctx context.Context, id, note string) (*RecurringJob, error) {
	m := members{}
	m.text("note", note)
	return fetch[RecurringJob](ctx, c, postCall(pathOf("recurring", id, "pause")), m)
}

// ResumeRecurringJob goes on with the next slot.
func (c *Client) ResumeRecurringJob(ctx context.Context, id string) (*RecurringJob, error) {
	return fetch[RecurringJob](ctx, c, postCall(pathOf("recurring", id, "resume")), nil)
}

// RunRecurringJob makes a job now, outside of the schedule, and returns its id. After a lost answer it is not tried again. The code of
// its error is unique_key_taken if Overlap forbids it.
func (c *Client) RunRecurringJob(ctx context.Context, id string) (string, error) {
	made, err := fetch[PublishedJob](ctx, c, call{method: "POST", path: pathOf("recurring", id, "run")}, nil)
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

type upcomingSlots struct{ Slots []UpcomingSlot }

// UpcomingSlots returns the next slots, also while it is paused; a count of 0 is 10.
func (c *Client) UpcomingSlots(ctx context.Context, id string, count int) ([]UpcomingSlot, error) {
	query := queryValues{}
	if count != 0 {
		query.set("count", strconv.Itoa(count))
	}
	found, err := fetch[upcomingSlots](ctx, c, getCall(pathOf("recurring", id, "next"), query), nil)
	if err != nil {
		return nil, err
	}
	return found.Slots, nil
}

// PreviewSchedule returns the next slots of a schedule that is not stored; a count of 0 is 10.
func (c *Client) PreviewSchedule(ctx context.Context, schedule Schedule, count int) ([]UpcomingSlot, error) {
	m := members{"schedule": schedule}
	m.put("count", count, count != 0)
	found, err := fetch[upcomingSlots](ctx, c, postCall("recurring/preview"), m)
	if err != nil {
		return nil, err
	}
	return found.Slots, nil
}
