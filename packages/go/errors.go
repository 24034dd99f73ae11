package pumphouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Error is every error of this package, other than that of a context that has ended and mistakes in arguments.
type Error struct {
	// Code is the server's (job_not_found, lease_lost …), or network, timeout or invalid_response.
	Code    string
	Message string
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// RequestID is named in the server's log, too; "" if there was no answer.
	RequestID string
	// Retryable: the same call may succeed later. It was tried again already where that was safe.
	Retryable bool
	// Attempts is how often the call was sent.
	Attempts int
	// Details is what else the answer says of the error: state, holder_id, dependents …
	Details map[string]json.RawMessage
	// Err is the cause, if there is one.
	Err error
	// mayBeDone: an earlier attempt, whose answer was lost, may have done it.
	mayBeDone bool
}

func (e *Error) Error() string { return fmt.Sprintf("pumphouse: %s: %s", e.Code, e.Message) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// isOfProxy is true if a proxy in between has answered: its answer has no code of the API, and says nothing of the call.
func (e *Error) isOfProxy() bool { return e.Code == "http_"+strconv.Itoa(e.Status) }

// FieldError is a field of a request that the server refused, under its name in the API: delay_ms, where the message has Delay.
type FieldError struct {
	Field string `json:"field"`
	Rule  string `json:"rule"`
}

// Fields returns the fields that the server refused; none if it names none.
func (e *Error) Fields() []FieldError {
	var fields []FieldError
	if json.Unmarshal(e.Details["errors"], &fields) != nil {
		return nil
	}
	return fields
}

// Code returns the code of an *Error in the chain of err; "" if there is none.
func Code(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

// RetryError is returned by a handler: try the job again, by its retry policy or after Delay.
type RetryError struct {
	Err error
	// Group names the kind of failure; "failed" if it is empty.
	Group string
	// Delay is rounded up to milliseconds; 0 = the retry policy says.
	Delay time.Duration
}

func (e *RetryError) Error() string { return text(e.Err, "retry") }

// Unwrap returns the cause.
func (e *RetryError) Unwrap() error { return e.Err }

// FailError is returned by a handler: the job has failed for good, and goes to the dead letter.
type FailError struct {
	Err error
	// Group names the kind of failure; "failed" if it is empty.
	Group string
}

func (e *FailError) Error() string { return text(e.Err, "fail") }

// Unwrap returns the cause.
func (e *FailError) Unwrap() error { return e.Err }

// ReleaseError is returned by a handler: give the job back, at once or after Delay. Its try is not used.
type ReleaseError struct{ Delay time.Duration }

func (e *ReleaseError) Error() string { return "the job is given back" }

func text(err error, without string) string {
	if err == nil {
		return without
	}
	return err.Error()
}
