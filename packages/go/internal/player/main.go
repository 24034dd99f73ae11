// Command player plays test/clients/scenarios.json: player URL NAMESPACE TOKEN. It reads commands from stdin, prints answers and
// events.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

type fields map[string]any

// job is a job as the API has it.
type job struct {
	Queue       string
	Data        json.RawMessage
	Bytes       []byte
	ContentType string `json:"content_type"`
	Type, ID    string
	DelayMs     int64 `json:"delay_ms"`
	Tries       int
	Priority    int
	Tags        []string
	RetentionMs int64 `json:"retention_ms"`
	Retry       *struct {
		Kind         string
		DelayMs      int64    `json:"delay_ms"`
		DelaysMs     []int64  `json:"delays_ms"`
		MaxMs        int64    `json:"max_ms"`
		NonRetryable []string `json:"non_retryable"`
		Factor       float64
		Jitter       float64
	}
	Unique *struct {
		Key, Mode string
		WindowMs  int64 `json:"window_ms"`
	}
	Push                struct{ URL string }
	RunAt               time.Time `json:"run_at"`
	TTLMs               int64     `json:"ttl_ms"`
	TTRMs               int64     `json:"ttr_ms"`
	LeaseGraceMs        int64     `json:"lease_grace_ms"`
	MaxRunMs            int64     `json:"max_run_ms"`
	Attributes          map[string]string
	DependsOn           []string `json:"depends_on"`
	OnDependencyFailure string   `json:"on_dependency_failure"`
	OnMissingDependency string   `json:"on_missing_dependency"`
	ConcurrencyKey      string   `json:"concurrency_key"`
	FairKey             string   `json:"fair_key"`
	History             bool
}

func (j job) toNew() pumphouse.NewJob {
	made := pumphouse.NewJob{
		Queue: j.Queue, ContentType: j.ContentType, Type: j.Type, ID: j.ID, Delay: ms(j.DelayMs), Tries: j.Tries,
		Priority: j.Priority, Tags: j.Tags, Retention: ms(j.RetentionMs), PushURL: j.Push.URL,
		RunAt: j.RunAt, TTL: ms(j.TTLMs), TTR: ms(j.TTRMs), LeaseGrace: ms(j.LeaseGraceMs), MaxRun: ms(j.MaxRunMs),
		Attributes: j.Attributes, DependsOn: j.DependsOn, OnDependencyFailure: j.OnDependencyFailure,
		OnMissingDependency: j.OnMissingDependency, ConcurrencyKey: j.ConcurrencyKey, FairKey: j.FairKey, History: j.History,
	}
	if j.Data != nil {
		made.Data = j.Data
	}
	if j.Bytes != nil {
		made.Data = j.Bytes
	}
	var text string
	if j.ContentType != "" && json.Unmarshal(j.Data, &text) == nil {
		made.Data = text
	}
	if j.Retry != nil {
		made.Retry = &pumphouse.RetryPolicy{
			Kind: j.Retry.Kind, Delay: ms(j.Retry.DelayMs), MaxDelay: ms(j.Retry.MaxMs), NonRetryable: j.Retry.NonRetryable,
			Factor: j.Retry.Factor, Jitter: j.Retry.Jitter,
		}
		for _, delay := range j.Retry.DelaysMs {
			made.Retry.Delays = append(made.Retry.Delays, ms(delay))
		}
	}
	if j.Unique != nil {
		made.Unique = &pumphouse.UniqueKey{Key: j.Unique.Key, Mode: j.Unique.Mode, Window: ms(j.Unique.WindowMs)}
	}
	return made
}

type settingKey struct{}

type behaviour struct {
	Progress any
	// ReturnsDependencies: returns id, state and result of each of its dependencies, and whether the result is left out.
	ReturnsDependencies bool   `json:"returns_dependencies"`
	WaitMs              *int64 `json:"wait_ms"`
	IgnoreMs            int64  `json:"ignore_ms"`
	Raises              string
	Group               string
	Message             string
	DelayMs             float64 `json:"delay_ms"`
	Next                string
	Bytes               []byte
	Fills               int
	// Stops: calls Stop of all workers.
	Stops bool
	// Odd: the outcome is one of those that only programs of this language have.
	Odd bool
	// SetsContext: contexts of Go are values; a handler cannot change that of another one.
	SetsContext bool `json:"sets_context"`
	Nests       int
	Returns     any
	// Returned: the outcome is the result, in the form "value" or "pointer".
	Returned string
}

// command is what stdin has, with the fields of all commands.
type command struct {
	ID   int
	Do   string
	With struct {
		Job             job
		Jobs            []job
		Key             string
		KeyTTLMs        int64 `json:"key_ttl_ms"`
		Durability      string
		WaitMs          float64 `json:"wait_ms"`
		ID              string
		Force           bool
		Value           json.RawMessage
		Queue           string
		Limit           int
		Secrets         []string
		Headers         map[string]string
		Body            string
		NowS            int64 `json:"now_s"`
		Handlers        map[string]behaviour
		Signals         bool
		Queues          []string
		Concurrency     int
		TTRMs           int64 `json:"ttr_ms"`
		ShutdownGraceMs int64 `json:"shutdown_grace_ms"`
		ShutdownAbortMs int64 `json:"shutdown_abort_ms"`
		Name            string
	}
}

var (
	ctx     = context.Background()
	client  *pumphouse.Client
	workers []*pumphouse.Worker
	mu      sync.Mutex
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func fractionOf(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func write(line fields) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	mu.Lock()
	defer mu.Unlock()
	fmt.Println(string(text))
}

// shown adds a payload: bytes stand in base64 beside the rest.
func shown(payload pumphouse.Payload, line fields) fields {
	if payload.JSON == nil {
		line["bytes"], line["content_type"] = payload.Bytes, payload.ContentType
	} else {
		line["data"] = payload.JSON
	}
	return line
}

func (b behaviour) run(ctx context.Context, job *pumphouse.Job) (any, error) {
	var kind any
	if job.Type != "" {
		kind = job.Type
	}
	write(shown(job.Payload, fields{"event": "begun", "type": kind, "attempts": job.Attempts}))
	if b.SetsContext {
		write(fields{"event": "context", "value": ctx.Value(settingKey{})})
	}
	if b.ReturnsDependencies {
		return dependenciesOf(job), nil
	}
	if b.Progress != nil {
		if err := job.SetProgress(ctx, b.Progress); err != nil {
			return nil, err
		}
	}
	time.Sleep(ms(b.IgnoreMs))
	if b.WaitMs != nil {
		select {
		case <-time.After(ms(*b.WaitMs)):
		case <-ctx.Done():
		}
	}
	if cause := pumphouse.Cause(ctx); cause != nil {
		write(fields{"event": "cancelled", "code": pumphouse.Code(cause)})
		if b.WaitMs != nil {
			return nil, cause
		}
	}
	if b.Stops {
		stopBelow(300)
	}
	if b.Odd {
		return oddOutcome(job)
	}
	if b.Message == "" {
		b.Message = "odd"
	}
	odd := errors.New(b.Message)
	delay := time.Duration(b.DelayMs * float64(time.Millisecond))
	if b.Returned != "" {
		return b.returned(odd, delay), nil
	}
	switch b.Raises {
	case "retry":
		return nil, &pumphouse.RetryError{Err: odd, Group: b.Group, Delay: delay}
	case "fail":
		return nil, fmt.Errorf("wrapped: %w", &pumphouse.FailError{Err: odd, Group: b.Group})
	case "release":
		return nil, &pumphouse.ReleaseError{Delay: delay}
	case "error":
		panic(odd)
	}
	if b.Next != "" {
		return &pumphouse.Next{Queue: b.Next, Data: b.Returns}, nil
	}
	if b.Nests != 0 {
		return json.RawMessage(strings.Repeat("[", b.Nests) + strings.Repeat("]", b.Nests)), nil
	}
	if b.Fills != 0 {
		return strings.Repeat("x", b.Fills), nil
	}
	if b.Bytes != nil {
		return b.Bytes, nil
	}
	return b.Returns, nil
}

func (b behaviour) returned(odd error, delay time.Duration) any {
	next := pumphouse.Next{Queue: b.Next, Data: b.Returns}
	retry := pumphouse.RetryError{Err: odd, Group: b.Group, Delay: delay}
	fail := pumphouse.FailError{Err: odd, Group: b.Group}
	release := pumphouse.ReleaseError{Delay: delay}
	isPointer := b.Returned == "pointer"
	switch {
	case b.Next != "" && isPointer:
		return &next
	case b.Next != "":
		return next
	case b.Raises == "retry" && isPointer:
		return &retry
	case b.Raises == "retry":
		return retry
	case b.Raises == "fail" && isPointer:
		return &fail
	case b.Raises == "fail":
		return fail
	case isPointer:
		return &release
	}
	return release
}

// stopBelow calls Stop of all workers, below so many frames.
func stopBelow(frames int) {
	if frames > 0 {
		stopBelow(frames - 1)
		return
	}
	for _, worker := range workers {
		worker.Stop()
	}
}

type (
	panics  struct{}
	ends    struct{}
	pointed struct{ text string }
)

func (panics) Error() string                { panic(panics{}) }
func (panics) MarshalJSON() ([]byte, error) { panic(panics{}) }
func (ends) Error() string                  { runtime.Goexit(); return "" }
func (ends) MarshalJSON() ([]byte, error)   { runtime.Goexit(); return nil, nil }
func (p *pointed) Error() string            { return p.text }

// oddOutcome is one that no handler should have. None of it settles a job as done.
func oddOutcome(job *pumphouse.Job) (any, error) {
	var number int
	if err := job.Decode(&number); err != nil {
		return nil, err
	}
	var deep any
	for i := 0; i < 10001; i++ {
		deep = []any{deep}
	}
	itself := []any{nil}
	itself[0] = itself
	var next *pumphouse.Next
	var pointer *pointed
	var fail *pumphouse.FailError
	var retry *pumphouse.RetryError
	var release *pumphouse.ReleaseError
	outcomes := []func() (any, error){
		func() (any, error) { return deep, nil },
		func() (any, error) { return &pumphouse.Next{Queue: job.Queue, Data: deep}, nil },
		func() (any, error) { return next, nil },
		func() (any, error) { runtime.Goexit(); return nil, nil },
		func() (any, error) { panic(nil) },
		func() (any, error) { panic(panics{}) },
		func() (any, error) { panic(ends{}) },
		func() (any, error) { panic(itself) },
		func() (any, error) { return nil, panics{} },
		func() (any, error) { return panics{}, nil },
		func() (any, error) { return nil, ends{} },
		func() (any, error) { return ends{}, nil },
		func() (any, error) { return nil, pointer },
		func() (any, error) { return nil, fail },
		func() (any, error) { return nil, retry },
		func() (any, error) { return nil, release },
		func() (any, error) { return fail, nil },
		func() (any, error) { return retry, nil },
		func() (any, error) { return release, nil },
	}
	return outcomes[number%len(outcomes)]()
}

func play(c command) (any, error) {
	with := c.With
	var options []pumphouse.PublishOption
	if with.Key != "" {
		options = append(options, pumphouse.WithIdempotencyKey(with.Key))
	}
	if with.KeyTTLMs != 0 {
		options = append(options, pumphouse.WithIdempotencyTTL(ms(with.KeyTTLMs)))
	}
	if with.Durability != "" {
		options = append(options, pumphouse.WithDurability(with.Durability))
	}
	switch c.Do {
	case "publish":
		return client.Publish(ctx, with.Job.toNew(), options...)
	case "publish_many":
		jobs := make([]pumphouse.NewJob, len(with.Jobs))
		for i, one := range with.Jobs {
			jobs[i] = one.toNew()
		}
		published, err := client.PublishMany(ctx, jobs, options...)
		return fields{"jobs": published}, err
	case "publish_and_wait":
		ended, err := client.PublishAndWait(ctx, with.Job.toNew(), fractionOf(with.WaitMs), options...)
		if err != nil {
			return nil, err
		}
		line := fields{"id": ended.ID, "state": ended.State, "replayed": ended.Replayed}
		if ended.Result != nil {
			line["result"] = ended.Result.JSON
		}
		return line, nil
	case "get":
		job, err := client.Job(ctx, with.ID)
		if err != nil {
			return nil, err
		}
		line := fields{"state": job.State, "queue": job.Queue, "tags": job.Tags, "tries": job.Tries, "tries_left": job.TriesLeft}
		if job.Result != nil {
			line["result"] = shown(*job.Result, fields{})
		}
		return shown(job.Payload, line), nil
	case "list":
		filter := pumphouse.JobFilter{Queue: with.Queue, Limit: with.Limit, WithData: true}
		page, err := client.Jobs(ctx, filter)
		if err != nil {
			return nil, err
		}
		first, all := []any{}, []string{}
		for _, job := range page.Items {
			first = append(first, job.JSON)
		}
		err = client.EachJob(ctx, filter, func(job *pumphouse.JobDetails) error {
			all = append(all, job.ID)
			return nil
		})
		return fields{"first": first, "all": all}, err
	case "cancel":
		return client.CancelJob(ctx, with.ID, pumphouse.CancelOptions{})
	case "put":
		return client.PutJob(ctx, with.ID, with.Job.toNew())
	case "delete":
		var options []pumphouse.DeleteOption
		if with.Force {
			options = append(options, pumphouse.WithForce())
		}
		return fields{}, client.DeleteJob(ctx, with.ID, options...)
	case "set_variable":
		if err := client.SetVariable(ctx, with.Name, with.Value); err != nil {
			return nil, err
		}
		listed, err := client.Variables(ctx)
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		err = client.Variable(ctx, with.Name, &value)
		return fields{"value": value, "listed": listed[with.Name]}, err
	case "delete_variable":
		return fields{}, client.DeleteVariable(ctx, with.Name)
	case "revoke":
		var answer fields
		err := client.Call(ctx, "POST", "jobs/"+with.ID+"/revoke", nil, &answer)
		return answer, err
	case "verify":
		header := http.Header{}
		for name, value := range with.Headers {
			header.Set(name, value)
		}
		now := func() time.Time { return time.Unix(with.NowS, 0) }
		id, err := pumphouse.Verifier{Secrets: with.Secrets, Now: now}.Verify(header, []byte(with.Body))
		return fields{"id": id}, err
	case "work":
		return work(c)
	case "stop":
		stopBelow(0)
		return fields{}, nil
	}
	return nil, fmt.Errorf("unknown command %q", c.Do)
}

func work(c command) (any, error) {
	with := c.With
	made, err := client.NewWorker(pumphouse.WorkerOptions{
		Queues: with.Queues, Concurrency: with.Concurrency, TTR: ms(with.TTRMs), Wait: fractionOf(with.WaitMs), Name: with.Name,
		ShutdownGrace: ms(with.ShutdownGraceMs), ShutdownAbort: ms(with.ShutdownAbortMs),
		Logf: func(string, ...any) {},
	})
	if err != nil {
		return nil, err
	}
	workers = append(workers, made)
	for kind, handler := range with.Handlers {
		made.Handle(kind, handler.run)
	}
	go func() {
		if with.Signals {
			if made.RunUntilSignal(ctx) != nil {
				os.Exit(143)
			}
			os.Exit(0)
		}
		if err := made.Run(ctx); err != nil {
			line := errorOf(err)
			line["event"] = "refused"
			write(line)
		}
	}()
	return fields{"worker": made.ID}, nil
}

func errorOf(err error) fields {
	var refused *pumphouse.Error
	switch {
	case errors.Is(err, pumphouse.ErrWebhook):
		return fields{"code": "webhook"}
	case !errors.As(err, &refused):
		return fields{"code": "other", "message": err.Error()}
	}
	return fields{
		"code": refused.Code, "status": refused.Status, "retryable": refused.Retryable, "fields": refused.Fields(),
		"has_request_id": refused.RequestID != "",
	}
}

func main() {
	made, err := pumphouse.New(pumphouse.Config{URL: os.Args[1], Namespace: os.Args[2], Token: os.Args[3]})
	if err != nil {
		panic(err)
	}
	client = made
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		if result, err := play(c); err != nil {
			write(fields{"id": c.ID, "error": errorOf(err)})
		} else {
			write(fields{"id": c.ID, "result": result})
		}
	}
}

func dependenciesOf(job *pumphouse.Job) []any {
	shown := []any{}
	for _, one := range job.Dependencies {
		var result any = one.Result
		if one.Bytes != nil {
			result = one.Bytes
		}
		shown = append(shown, []any{one.ID, one.State, result, one.Truncated})
	}
	return shown
}
