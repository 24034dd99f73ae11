package pumphouse

import "time"

// Explanation says why a job does not run, or why a queue gives no jobs.
type Explanation struct {
	// Cause is its name: no_worker, paused, blocked … The page of the API on explanations lists all.
	Cause string `json:"cause"`
	// Message is one sentence that names it.
	Message string `json:"message"`
	// Facts are what the sentence is made from; they depend on the cause.
	Facts map[string]any `json:"facts"`
	// Since is nil if it is not known.
	Since *time.Time `json:"since"`
	// NextAt is when it ends or is tried again; nil = nothing is planned.
	NextAt *time.Time `json:"next_at"`
	// Remedies are what removes it.
	Remedies []Remedy `json:"remedies"`
	// Also has what holds too, and would be next.
	Also []OtherCause `json:"also"`
}

// Remedy is what removes a cause: a call, and the same on the command line, or "" if that has no command for it.
type Remedy struct {
	About   string `json:"about"`
	Call    string `json:"call"`
	Command string `json:"command"`
}

// OtherCause holds beside the cause that an explanation names.
type OtherCause struct {
	Cause   string `json:"cause"`
	Message string `json:"message"`
}
