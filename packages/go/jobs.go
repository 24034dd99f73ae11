package pumphouse

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"time"
)

// Forever is the TTL of a job that does not expire.
const Forever time.Duration = -1

// NewJob is a job to publish. A zero field is the queue's default, else the server's. Durations are rounded up to milliseconds.
type NewJob struct {
	Queue string
	// Data becomes JSON; json.RawMessage is stored to the last digit. []byte stays bytes, and so does text with a ContentType
	// that is not JSON.
	Data        any
	ContentType string
	Type        string
	ID          string
	Delay       time.Duration
	// RunAt is when it can be leased, in place of Delay.
	RunAt time.Time
	// TTL is how long it may exist.
	TTL   time.Duration
	Tries int
	TTR   time.Duration
	// MaxRun is how long a lease of it lasts in all, whatever the heartbeats. Then it fails with the group max_run_exceeded.
	MaxRun time.Duration
	// Priority is -128 … 127; lower runs sooner.
	Priority   int
	Tags       []string
	Attributes map[string]string
	// DependsOn has the ids of jobs that must be done first.
	DependsOn []string
	// OnDependencyFailure is block, ignore, fail or cancel.
	OnDependencyFailure string
	// OnMissingDependency is ignore or refuse: what a publish does if no job has one of these ids. By default the id counts as done.
	OnMissingDependency string
	Retry               *RetryPolicy
	LeaseGrace          time.Duration
	Unique              *UniqueKey
	ConcurrencyKey      string
	// FairKey: in a fair queue, keys are served in turns. Without one, the ConcurrencyKey counts.
	FairKey string
	// Retention is how long it is kept with its result when it is done.
	Retention time.Duration
	History   bool
	// PushURL is where a server sends it, instead of to the target of its queue. The token needs the permission push.
	PushURL string
}

// RetryPolicy says when a job is tried again.
type RetryPolicy struct {
	// Kind is none, fixed, linear, exponential or list.
	Kind string
	// Delay of all kinds but list, which has Delays.
	Delay    time.Duration
	Delays   []time.Duration
	Factor   float64
	MaxDelay time.Duration
	// Jitter is the part of the delay that is random, 0 … 1.
	Jitter float64
	// NonRetryable are failure groups that go to the dead letter at once.
	NonRetryable []string
}

// UniqueKey is held by at most one live job.
type UniqueKey struct {
	Key string
	// Mode is reject, existing (the default), replace or debounce.
	Mode   string
	Window time.Duration
}

// members are those of a JSON object that are given.
type members map[string]any

func (m members) put(name string, value any, isGiven bool) {
	if isGiven {
		m[name] = value
	}
}

func (m members) duration(name string, value time.Duration) {
	m.put(name, roundedUp(value), value > 0)
}

// moment puts a time, unless it is zero.
func (m members) moment(name string, value time.Time) {
	m.put(name, momentText(value), !value.IsZero())
}

// momentText is a time as the API takes it.
func momentText(value time.Time) string { return value.UTC().Format("2006-01-02T15:04:05.000Z") }

// ttl puts how long a job may exist; Forever is 0 in the API.
func (m members) ttl(value time.Duration) {
	m.duration("ttl_ms", value)
	m.put("ttl_ms", 0, value < 0)
}

// roundedUp is a duration in whole milliseconds.
func roundedUp(value time.Duration) int64 {
	whole := value.Milliseconds()
	if value > time.Duration(whole)*time.Millisecond {
		whole++
	}
	return whole
}

// delay puts the delay of a settle call, clamped to what the API takes.
func (m members) delay(value time.Duration) {
	if value > maxDelay {
		value = maxDelay
	}
	m.duration("delay_ms", value)
}

func (m members) text(name, value string) { m.put(name, value, value != "") }

// MarshalJSON writes the job as the API takes it.
func (j NewJob) MarshalJSON() ([]byte, error) {
	m := members{"queue": j.Queue}
	m.text("type", j.Type)
	m.text("id", j.ID)
	m.duration("delay_ms", j.Delay)
	m.moment("run_at", j.RunAt)
	m.ttl(j.TTL)
	m.put("tries", j.Tries, j.Tries != 0)
	m.duration("ttr_ms", j.TTR)
	m.duration("max_run_ms", j.MaxRun)
	m.put("priority", j.Priority, j.Priority != 0)
	m.put("tags", j.Tags, len(j.Tags) > 0)
	m.put("attributes", j.Attributes, len(j.Attributes) > 0)
	m.put("depends_on", j.DependsOn, len(j.DependsOn) > 0)
	m.text("on_dependency_failure", j.OnDependencyFailure)
	m.text("on_missing_dependency", j.OnMissingDependency)
	m.put("retry", j.Retry, j.Retry != nil)
	m.duration("lease_grace_ms", j.LeaseGrace)
	m.put("unique", j.Unique, j.Unique != nil)
	m.text("concurrency_key", j.ConcurrencyKey)
	m.text("fair_key", j.FairKey)
	m.duration("retention_ms", j.Retention)
	m.put("history", true, j.History)
	m.put("push", members{"url": j.PushURL}, j.PushURL != "")
	m.data(j.Data, j.ContentType)
	return encode(m)
}

var jsonType = regexp.MustCompile(`(?i)^application/([^;]+\+)?json(;|$)`)

// MarshalJSON writes the policy as the API takes it.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	m := members{"kind": p.Kind}
	m.put("delay_ms", roundedUp(p.Delay), p.Kind != "none" && p.Kind != "list")
	if p.Kind == "list" {
		delays := make([]int64, len(p.Delays))
		for i, delay := range p.Delays {
			delays[i] = roundedUp(delay)
		}
		m["delays_ms"] = delays
	}
	m.put("factor", p.Factor, p.Factor != 0)
	m.duration("max_ms", p.MaxDelay)
	m.put("jitter", p.Jitter, p.Jitter != 0)
	m.put("non_retryable", p.NonRetryable, len(p.NonRetryable) > 0)
	return encode(m)
}

// MarshalJSON writes the key as the API takes it.
func (u UniqueKey) MarshalJSON() ([]byte, error) {
	m := members{"key": u.Key}
	m.text("mode", u.Mode)
	m.duration("window_ms", u.Window)
	return encode(m)
}

// data adds data and its content type, if they are given: text of a type that is not JSON is stored as bytes.
func (m members) data(data any, contentType string) {
	m.text("content_type", contentType)
	if s, isText := data.(string); isText && contentType != "" && !jsonType.MatchString(contentType) {
		data = []byte(s)
	}
	m.payload("data", data)
}

// payload adds data, if there is some: bytes as base64, everything else as JSON.
func (m members) payload(name string, data any) {
	if raw, isBytes := data.([]byte); isBytes {
		m[name+"_base64"] = base64.StdEncoding.EncodeToString(raw)
		return
	}
	m.put(name, data, data != nil)
}

// encode writes JSON without the escapes that only HTML needs. Its error names the value that has none. A MarshalJSON of the caller's that panics is an error.
func encode(value any) (json []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			json, err = nil, fmt.Errorf("pumphouse: writing JSON has panicked: %s", panicText(value))
		}
	}()
	json, err = encodeJSON(value)
	if err == nil {
		return json, nil
	}
	if fault := jsonFault(value, ""); fault != nil {
		err = fault
	}
	return nil, err
}

// panicText is the text of a panic. Its value may contain itself: one without a text of its own is named by its type.
func panicText(value any) string {
	switch known := value.(type) {
	case error:
		return known.Error()
	case fmt.Stringer:
		return known.String()
	}
	if kind := reflect.TypeOf(value).Kind(); kind <= reflect.Complex128 || kind == reflect.String {
		return fmt.Sprint(value)
	}
	shown := fmt.Sprintf("a value of the type %T", value)
	if text, err := encodeJSON(value); err == nil {
		shown += ": " + string(text)
	}
	return shown
}

func encodeJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Payload is data of a job, or its result: JSON or bytes.
type Payload struct {
	// JSON is as the server sent it, to the last digit; nil if the payload is bytes.
	JSON json.RawMessage `json:"data"`
	// Bytes is nil if the payload is JSON.
	Bytes       []byte `json:"data_base64"`
	ContentType string `json:"content_type"`
}

// Decode reads the JSON into a value, as json.Unmarshal does.
func (p Payload) Decode(into any) error {
	if p.JSON == nil {
		return fmt.Errorf("pumphouse: the payload is not JSON, but %q", p.ContentType)
	}
	return json.Unmarshal(p.JSON, into)
}

// Dependency is a job that another one was published to run after.
type Dependency struct {
	ID string `json:"id"`
	// State is its state; of one that is gone, how it ended: done, dead, cancelled, expired, deleted, replaced; or missing: no
	// job had the id when the dependency was stored.
	State string `json:"state"`
	// Result is its result as the server sent it; nil if there is none, if it is bytes, and if it is left out.
	Result json.RawMessage `json:"result"`
	// Bytes is its result if that is not JSON.
	Bytes []byte `json:"result_base64"`
	// ResultType is the content type of its result; "" without one.
	ResultType string `json:"result_type"`
	// Truncated: the results of one job have up to 64 KiB in all, and this one did not fit. Job of the dependency has it.
	Truncated bool `json:"truncated"`
}

// PublishedJob is the answer to a publish.
type PublishedJob struct {
	ID    string `json:"id"`
	State string `json:"state"`
	// Existing: nothing was stored, this is the job that has the unique key.
	Existing bool `json:"existing"`
	// Replayed: nothing was stored, an earlier publish with the same idempotency key was answered so.
	Replayed bool `json:"replayed"`
	// MissingDependencies are ids of DependsOn that no job has: they count as done.
	MissingDependencies []string `json:"missing_dependencies"`
}

// EndedJob is a job that was waited for. If State is not done, dead or cancelled, it has not ended in time; "" = it is gone.
type EndedJob struct {
	PublishedJob
	Result  *Payload    `json:"result"`
	Failure *JobFailure `json:"failure"`
}

// JobFailure is the last failure of a job.
type JobFailure struct {
	Group   string    `json:"group"`
	Message string    `json:"message"`
	At      time.Time `json:"at"`
	Worker  string    `json:"worker"`
}

// JobFields are those of leased jobs and of jobs as the server shows them.
type JobFields struct {
	ID         string            `json:"id"`
	Queue      string            `json:"queue"`
	Type       string            `json:"type"`
	Tags       []string          `json:"tags"`
	Attributes map[string]string `json:"attributes"`
	Priority   int               `json:"priority"`
	Tries      int               `json:"tries"`
	TriesLeft  int               `json:"tries_left"`
	// Attempts counts leases, Crashes those that expired, Failures those that workers reported.
	Attempts    int        `json:"attempts"`
	Crashes     int        `json:"crashes"`
	Failures    int        `json:"failures"`
	PublishedAt *time.Time `json:"published_at"`
	ExpiresAt   *time.Time `json:"expires_at"`
	// Progress is as a worker left it last.
	Progress json.RawMessage `json:"progress"`
	// The payload. Lists have none, unless they are called with WithData.
	Payload
}

// JobDetails is a job as the server shows it. Lists leave out the fields from CancelRequested on.
type JobDetails struct {
	JobFields
	State           string      `json:"state"`
	DueAt           *time.Time  `json:"due_at"`
	EndedAt         *time.Time  `json:"ended_at"`
	LeaseEndsAt     *time.Time  `json:"lease_ends_at"`
	LeasedBy        string      `json:"leased_by"`
	Failure         *JobFailure `json:"failure"`
	CancelRequested bool        `json:"cancel_requested"`
	Result          *Payload    `json:"result"`
	// DependsOn has the dependencies that have not ended, Dependencies all of them, with their results.
	DependsOn      []string         `json:"depends_on"`
	Dependencies   []Dependency     `json:"dependencies"`
	Dependents     []string         `json:"dependents"`
	UniqueKey      string           `json:"unique_key"`
	ConcurrencyKey string           `json:"concurrency_key"`
	FairKey        string           `json:"fair_key"`
	Timeline       []map[string]any `json:"timeline"`
}

// CancelledJob is the answer to a cancellation. Outcome is cancelled, already_cancelled or requested.
type CancelledJob struct {
	ID        string     `json:"id"`
	Outcome   string     `json:"outcome"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Page is a page of a list. NextCursor is where it goes on; "" at its end. A page may be short, or empty, before that.
type Page[Item any] struct {
	Items      []Item `json:"items"`
	NextCursor string `json:"next_cursor"`
}

// Next is returned by a handler as its result: the job goes on in another queue, with its id, its timeline and fresh tries.
type Next struct {
	Queue     string
	Delay     time.Duration
	DependsOn []string
	// Data replaces the job's, unless it is nil.
	Data any
}

func (n Next) members() members {
	m := members{"queue": n.Queue}
	m.delay(n.Delay)
	m.put("depends_on", n.DependsOn, len(n.DependsOn) > 0)
	return m
}

const (
	maxGroup   = 128
	maxMessage = 16384
	// maxDelay is the longest delay that the API takes.
	maxDelay = 4294967295 * time.Second
	// invalidOutcome is the group of a job whose outcome the server refuses.
	invalidOutcome = "invalid_outcome"
)

// failureOf gives group and message of a failure, both within the bounds of the API. The methods of an error may panic, as those of a
// nil pointer do.
func failureOf(err error) (m members) {
	defer func() {
		if value := recover(); value != nil {
			m = members{"group": "panic", "message": fmt.Sprintf("the text of an error of the type %T panics", err)}
		}
	}()
	group := ""
	var retry *RetryError
	var fail *FailError
	var crash *panicError
	switch {
	case errors.As(err, &retry):
		group = retry.Group
	case errors.As(err, &fail):
		group = fail.Group
	case errors.As(err, &crash):
		group = "panic"
	default:
		group = Code(err)
	}
	if group == "" {
		group = "failed"
	}
	return members{"group": cut(controls.ReplaceAllString(group, " "), maxGroup), "message": cut(err.Error(), maxMessage)}
}

// outcome is the call that settles a job: an ack as JSON, or another one with its members.
type outcome struct {
	ack     []byte
	what    string
	members members
}

// outcomeOf reads what a handler has returned. Methods of that run here: whatever they do, it fails this job alone. hasCause: a context
// that has ended gives back what has failed.
func outcomeOf(job *Job, result any, err error, hasCause bool) (o outcome) {
	if err == nil {
		result, err = unwrapped(result)
	}
	hasFailed := err != nil
	crash := isolated(func() {
		if hasFailed {
			o.what, o.members = ending(err, hasCause)
		} else if o.ack, err = ackOf(job, result); err != nil {
			o = outcome{what: "fail", members: failureOf(err)}
		}
	})
	if crash != nil {
		o = outcome{what: "retry", members: failureOf(crash)}
	}
	if !hasFailed && o.ack == nil {
		o.what, o.members["group"] = "fail", "invalid_output"
	}
	return o
}

// unwrapped reads an outcome that a handler has returned as its result, by value or by pointer: as JSON it would settle the job as done.
func unwrapped(result any) (any, error) {
	// guard: go-returned-outcome-counts
	switch known := result.(type) {
	case Next:
		return &known, nil
	case RetryError:
		return nil, &known
	case FailError:
		return nil, &known
	case ReleaseError:
		return nil, &known
	case *RetryError, *FailError, *ReleaseError:
		return nil, known.(error)
	}
	return result, nil
}

func ackOf(job *Job, result any) ([]byte, error) {
	m := members{"queue": job.Queue, "id": job.ID, "lease": job.Lease}
	next, isNext := result.(*Next)
	switch {
	case isNext && next == nil:
		return nil, errors.New("the handler returned a *Next that is nil")
	case isNext:
		m["next"] = next.members()
		m.payload("data", next.Data)
	default:
		m.payload("result", result)
	}
	return encode(m)
}

// ending is what an error of a handler means: the call that settles its job, with its members.
func ending(err error, hasCause bool) (what string, m members) {
	defer func() {
		if value := recover(); value != nil {
			what, m = "retry", failureOf(err)
		}
	}()
	var retry *RetryError
	var fail *FailError
	var release *ReleaseError
	switch {
	case errors.As(err, &retry):
		m = failureOf(err)
		m.delay(retry.Delay)
		return "retry", m
	case errors.As(err, &fail):
		return "fail", failureOf(err)
	case errors.As(err, &release):
		m = members{}
		m.delay(release.Delay)
		return "release", m
	case hasCause:
		return "release", members{}
	}
	return "retry", failureOf(err)
}

var controls = regexp.MustCompile(`[\x00-\x1f\x{7f}-\x{9f}]`)

// cut bounds a text; the API counts characters as UTF-16 does.
func cut(text string, length int) string {
	units := 0
	for at, letter := range text {
		units++
		if letter > 0xffff {
			units++
		}
		if units > length {
			return text[:at]
		}
	}
	return text
}
