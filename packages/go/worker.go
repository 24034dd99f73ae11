package pumphouse

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// maxLeases is the number of jobs of one lease request; maxConcurrency that of the leases of one heartbeat.
	maxLeases        = 100
	maxConcurrency   = 1000
	maxSessionQueues = 64
	maxLogLine       = 1024
	// A heartbeat is due after this part of the lease, ± a tenth of it; and so soon after one that was not answered.
	heartbeatPart = 3
	againPart     = 20
	// attemptPart of the lease is how long one heartbeat may take, and so long at most.
	attemptPart = 6
	minAttempt  = 50 * time.Millisecond
	maxAttempt  = 10 * time.Second
	// ticksPerLease is how often it is seen whether a heartbeat is due.
	ticksPerLease = 60
	// latePart of the lease: where that is seen later by so much, the process stood still.
	latePart = 10
	// Pauses between lease requests that fail, or are answered too soon, as by a server that stops.
	firstLeasePause = 50 * time.Millisecond
	maxLeasePause   = 5 * time.Second
	// While the queues are empty it is so long from one lease request to the next, where Wait is shorter: doubles.
	firstEmpty = 100 * time.Millisecond
	maxEmpty   = time.Second
	// maxTypes is the number of types that a lease request can name.
	maxTypes = 64
	// oldUnhandled is for how long a job without a handler is given back to a server that does not count how often.
	oldUnhandled = time.Minute
	// leaseTries are attempts of one lease request before its failure is logged. The next request follows it.
	leaseTries = 5
	// endWaits is how long a lease request that is to end may take before its connection is closed.
	endWaits = time.Second
	// hurry is how long an answer may take after the client has closed its side of the connection.
	hurry = time.Second
	// atOnce is how long giving all jobs back may take at a second signal.
	atOnce = time.Second
)

// typesAgain is how long a worker leases jobs of all types after the server has refused to lease by type.
var typesAgain = 10 * time.Minute

// hopeless are refusals that no later lease request can get past.
var hopeless = map[string]bool{
	"invalid_argument": true, "bad_request": true, "token_missing": true, "token_invalid": true, "verb_missing": true,
	"queue_not_allowed": true, "pool_not_found": true, "not_found": true,
}

// ErrStopped is returned by Run after Abort.
var ErrStopped = errors.New("pumphouse: the worker was aborted")

// Handler runs a job. What it returns without an error is the result: nil for none, []byte for bytes, Next or *Next to hand the job on,
// else what becomes JSON. A *RetryError, *FailError or *ReleaseError says something else than the default: a retry by the job's policy.
//
// The context ends when the lease is lost, when MaxRun is over, when no heartbeat was answered for 80 % of the lease, when a client
// wants the job cancelled, and at the end of the shutdown grace; Cause says which.
type Handler func(ctx context.Context, job *Job) (result any, err error)

// Job is a leased job.
type Job struct {
	JobFields
	// Lease is the number of the lease.
	Lease int64 `json:"lease"`
	// MaxRunMs is how long this lease may last in all; 0: it has no limit.
	MaxRunMs int64 `json:"max_run_ms"`
	// Dependencies are the jobs that it was published to run after, in the order in which it names them.
	Dependencies []Dependency `json:"dependencies"`

	worker *Worker
	held   *held
	// unreadable is why the payload cannot be read.
	unreadable string
}

// SetProgress stores how far the work is; any JSON.
func (j *Job) SetProgress(ctx context.Context, value any) error {
	body := members{"lease": j.Lease, "ttr_ms": j.worker.options.TTR.Milliseconds(), "progress": value}
	sent := time.Now()
	var answer struct {
		CancelRequested bool `json:"cancel_requested"`
	}
	err := j.worker.post(ctx, "jobs/"+j.ID+"/heartbeat", body, nil, &answer)
	if code := Code(err); code == "lease_lost" || code == "job_not_found" {
		j.worker.cancel(j.held, "lease_lost")
		return nil
	}
	if err == nil {
		j.worker.confirm(j.held, sent)
		if answer.CancelRequested {
			j.worker.cancel(j.held, "cancelled")
		}
	}
	return err
}

// Log writes a line into the job's timeline, with data unless they are nil. Beyond 1,024 characters it is cut. If that fails, a
// warning is logged; the only error is that of a context that has ended.
func (j *Job) Log(ctx context.Context, message string, data any) error {
	if short := cut(message, maxLogLine); short != message {
		message = cut(message, maxLogLine-1) + "…"
	}
	m := members{"message": message}
	m.put("data", data, data != nil)
	err := j.worker.post(ctx, "jobs/"+j.ID+"/log", m, nil, nil)
	if err != nil && ctx.Err() == nil {
		// A line that is missing must not fail its job.
		j.worker.warnOnce(j.held, "log", "a line was not written into the timeline of a job", err)
	}
	return ctx.Err()
}

var causes = map[string]string{
	"lease_lost":        "another worker may have the job: nothing that this handler returns counts",
	"max_run_exceeded":  "it ran for longer than its MaxRun: nothing that this handler returns counts",
	"lease_unconfirmed": "no heartbeat was answered for 80 % of the lease: another worker may get the job soon",
	"cancelled":         "a client wants the job cancelled",
	"shutdown":          "the worker stops",
}

type heldKey struct{}

// isLoss has the causes that end the lease: nothing is sent for the job any more.
var isLoss = map[string]bool{"lease_lost": true, "max_run_exceeded": true}

// Cause returns why the context of a handler has ended: an *Error with the code lease_lost, max_run_exceeded, lease_unconfirmed,
// cancelled or shutdown. It is nil before that.
func Cause(ctx context.Context) error {
	h, isHandler := ctx.Value(heldKey{}).(*held)
	if !isHandler {
		return nil
	}
	h.worker.mu.Lock()
	defer h.worker.mu.Unlock()
	if h.cause == "" {
		return nil
	}
	return &Error{Code: h.cause, Message: causes[h.cause]}
}

// held is a job that the worker has leased and not settled yet. The worker's mutex guards it.
type held struct {
	job     *Job
	worker  *Worker
	handler Handler
	end     context.CancelFunc
	// confirmed is when the last heartbeat that was answered began.
	confirmed time.Time
	// maxRun is how long the handler may run; 0: only the job says it.
	maxRun time.Duration
	// runEnds is when its run has ended on the server: counted from answers, so never sooner. Zero = never.
	runEnds time.Time
	cause   string
	// isDoubtful: the answer with its lease may be old.
	isDoubtful bool
	// isSettling: its handler has ended; isAbandoned: the worker has given it back without waiting for that.
	isSettling, isAbandoned bool
	// warned has the kinds of warnings that were logged.
	warned map[string]bool
}

// WorkerOptions are those of a worker. A zero field is the default.
type WorkerOptions struct {
	// Queues; none = those of HandleQueue, in the order of the calls.
	Queues []string
	// Order is ordered (the default): a queue is served when those before it are empty; or round_robin: one job of each.
	Order string
	// Concurrency is the number of handlers that run at once; 10.
	Concurrency int
	// TTR is how long a lease lasts without a heartbeat; a minute. A heartbeat is sent every third of it.
	TTR time.Duration
	// Wait is how long one lease request waits for a job; 20 s.
	Wait time.Duration
	// ShutdownGrace is how long a stop waits for handlers before it ends their contexts; 25 s. Negative = not at all.
	ShutdownGrace time.Duration
	// ShutdownAbort is how long it waits then, before it gives their jobs back; 5 s. Negative = not at all.
	ShutdownAbort time.Duration
	// UnhandledDelay: jobs without a handler are given back for so long. 0: the server decides: a second at first, twice as long each
	// time until a handler begins, a minute at most.
	UnhandledDelay time.Duration
	// Name is its name in lists. Workers with equal names are listed each for itself.
	Name string
	// Logf reports failed attempts, and what no caller can be told; log.Printf. It is never given tokens, payloads or results, nor the
	// messages of failures, which may have some.
	Logf func(format string, args ...any)
}

// Worker leases jobs, runs their handlers, keeps the leases and settles the jobs. Each job may run twice: a worker that dies, or
// whose lease expires, may have done the work already.
type Worker struct {
	// ID is that of its session, which lists, events and leased_by show. No other worker has it.
	ID string

	client   *Client
	polls    *http.Client
	options  WorkerOptions
	info     members
	handlers map[handlerKey]Handler
	// maxRuns has the limits of handlers.
	maxRuns map[handlerKey]time.Duration
	// named has the queues of handlers, in their order.
	named []string
	// types that lease requests name; none = jobs of all types. None before noTypesUntil.
	types         []any
	noTypesUntil  time.Time
	warnedOfTypes bool
	acks          ackBatcher
	ctx           context.Context // Of all its calls: they go on while it stops.

	started, quieting, stopping, aborting, ended latch
	// leaving: the last jobs are to be settled, since left. From then on a stop waits for one lease at most.
	leaving latch
	left    time.Time

	mu sync.Mutex
	// change is closed, and replaced, when a job is settled.
	change  chan struct{}
	held    map[*held]bool
	running int
	// watched is when it was last seen what is due; stoodStill when that was late for the last time.
	watched, stoodStill time.Time
	warned              map[string]bool
}

type handlerKey struct{ queue, jobType string }

// AnyType is the type of a handler for all jobs that have no handler of their own.
const AnyType = "*"

// NewWorker makes a worker of the client's namespace; Run starts it.
func (c *Client) NewWorker(options WorkerOptions) (*Worker, error) {
	defaultTo(&options.Concurrency, 10)
	defaultTo(&options.TTR, time.Minute)
	defaultTo(&options.Wait, 20*time.Second)
	defaultTo(&options.ShutdownGrace, 25*time.Second)
	defaultTo(&options.ShutdownAbort, 5*time.Second)
	defaultTo(&options.Name, "worker")
	if options.Logf == nil {
		options.Logf = log.Printf
	}
	if options.Concurrency < 1 || options.Concurrency > maxConcurrency {
		return nil, fmt.Errorf("pumphouse: Concurrency: must be from 1 to %d", maxConcurrency)
	}
	if options.TTR < time.Millisecond || options.Wait < 0 {
		return nil, errors.New("pumphouse: TTR: must be a millisecond or more; Wait: must not be negative")
	}
	for _, limit := range []*time.Duration{&options.Wait, &options.ShutdownGrace, &options.ShutdownAbort} {
		*limit = capped(*limit)
	}
	readable := strings.TrimLeft(cut(notOfID.ReplaceAllString(options.Name, "-"), 64), "-_")
	defaultTo(&readable, "worker")
	host, _ := os.Hostname()
	polls := c.newHTTP()
	// Stopping closes one side of a poll's connection, which other requests must not share, as those of HTTP/2 do.
	if transport, ok := polls.Transport.(*http.Transport); ok {
		transport.ForceAttemptHTTP2 = false
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		if transport.TLSClientConfig != nil {
			transport.TLSClientConfig.NextProtos = nil
		}
	}
	info := members{"name": cut(options.Name, 255), "pid": os.Getpid(), "version": Version, "language": "go"}
	info.text("host", host)
	info["concurrency"], info["started_at"] = options.Concurrency, time.Now().UTC().Format(time.RFC3339)
	w := &Worker{
		ID: readable + "-" + randomHex(8), client: c, polls: polls, options: options, info: info,
		handlers: map[handlerKey]Handler{}, maxRuns: map[handlerKey]time.Duration{}, held: map[*held]bool{}, warned: map[string]bool{},
		change:   make(chan struct{}),
		started:  newLatch(),
		quieting: newLatch(), stopping: newLatch(), aborting: newLatch(), leaving: newLatch(), ended: newLatch(),
	}
	w.acks.worker = w
	return w, nil
}

var notOfID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Handle sets the handler of a type of job, in whatever queue. AnyType stands for all types that have none, "" for jobs without a
// type. Without AnyType, only jobs of the types that have a handler are leased, if they are 64 at most. It panics if there is one
// already, and must not be called after Run.
func (w *Worker) Handle(jobType string, handler Handler, options ...HandlerOptions) {
	w.HandleQueue("", jobType, handler, options...)
}

// HandlerOptions are those of one handler. A zero field is the default.
type HandlerOptions struct {
	// MaxRun is how long the handler may run, counted by the server from its begin. The shorter one of this and the MaxRun of the job
	// counts. Then the context ends, and the job fails with the group max_run_exceeded. A handler that does not look at its context goes
	// on; what it returns does not count.
	MaxRun time.Duration
}

// HandleQueue sets the handler of a type of job in one queue; it comes before that of the type. It panics as Handle does, and if an
// option has a wrong value.
func (w *Worker) HandleQueue(queue, jobType string, handler Handler, options ...HandlerOptions) {
	key := handlerKey{queue, jobType}
	if w.handlers[key] != nil {
		panic(fmt.Sprintf("pumphouse: there is a handler for %v already", key))
	}
	for _, option := range options {
		if option.MaxRun != 0 && option.MaxRun < time.Millisecond {
			panic("pumphouse: MaxRun: must be a millisecond or more")
		}
		w.maxRuns[key] = option.MaxRun
	}
	w.handlers[key] = handler
	if queue != "" && !has(w.named, queue) {
		w.named = append(w.named, queue)
	}
}

func has(list []string, text string) bool {
	for _, one := range list {
		if one == text {
			return true
		}
	}
	return false
}

// prepare takes the queues from the handlers, if the options name none, and warns if they do not match.
func (w *Worker) prepare() error {
	if len(w.options.Queues) == 0 {
		w.options.Queues = w.named
	}
	queues := w.options.Queues
	if len(queues) == 0 {
		return errors.New("pumphouse: Queues is missing: name the queues of the worker, or that of each handler by HandleQueue")
	}
	w.info["queues"] = queues
	if len(queues) > maxSessionQueues {
		w.info["queues"] = queues[:maxSessionQueues]
	}
	w.types = w.typesIn(queues)
	takesAll := false
	for key := range w.handlers {
		takesAll = takesAll || key.queue == ""
	}
	var idle, bare, faults []string
	for _, queue := range w.named {
		if !has(queues, queue) {
			idle = append(idle, queue)
		}
	}
	for _, queue := range queues {
		if !takesAll && !has(w.named, queue) {
			bare = append(bare, queue)
		}
	}
	if len(idle) > 0 {
		faults = append(faults, "it has handlers of queues that it does not lease from: "+strings.Join(idle, ", "))
	}
	if len(bare) > 0 {
		faults = append(faults, "no handler takes jobs of these queues, and the worker runs none of them: "+strings.Join(bare, ", "))
	}
	if len(faults) > 0 {
		w.options.Logf("pumphouse: queues and handlers of the worker %s do not match: %s", w.ID, strings.Join(faults, "; "))
	}
	return nil
}

// typesIn returns the types that have a handler in one of these queues, sorted: a request names one list for all of its queues. It
// returns none if all types have one, or if they are too many to name.
func (w *Worker) typesIn(queues []string) (types []any) {
	isThere := map[string]bool{}
	for key := range w.handlers {
		if key.queue == "" || has(queues, key.queue) {
			isThere[key.jobType] = true
		}
	}
	names := make([]string, 0, len(isThere))
	for name := range isThere {
		names = append(names, name)
	}
	if isThere[AnyType] || len(names) > maxTypes {
		return nil
	}
	sort.Strings(names)
	for _, name := range names {
		if name == "" {
			types = append(types, nil) // Jobs without a type.
		} else {
			types = append(types, name)
		}
	}
	return types
}

// Run works until the context ends, or Stop or an operator stops it. Then it waits for handlers, ends their contexts after the
// shutdown grace, and gives back what is left. Its error says that the server refuses this worker: its token, its queues. What was
// running has ended by then. A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	w.ctx = detached{ctx}
	w.watched = time.Now()
	w.started.set()
	go func() {
		select {
		case <-ctx.Done():
			w.stop()
		case <-w.ended.done:
		}
	}()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		w.keepLeases()
	}()
	err := w.leaseLoop()
	if err == nil {
		<-w.stopping.done
	}
	w.stop()
	w.drain()
	w.ended.set()
	// A heartbeat that arrives behind the end would begin the session again.
	<-kept
	// No harm is done if that fails: the session is lost after its lease, and forgotten later.
	once := &Limits{Tries: 1, Within: time.Second, Attempt: time.Second}
	_ = w.client.send(w.ctx, call{method: "DELETE", path: "workers/" + w.ID, isRepeatable: true, limits: once}, nil)
	w.polls.CloseIdleConnections()
	if err == nil && w.aborting.isSet() {
		err = ErrStopped
	}
	return err
}

// RunUntilSignal is Run until SIGTERM or SIGINT. At a second signal it gives all jobs back at once and returns ErrStopped.
func (w *Worker) RunUntilSignal(ctx context.Context) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	// Run may fail before it begins: then nothing ends.
	returned := make(chan struct{})
	defer close(returned)
	go func() {
		for _, act := range []func(){w.stop, w.Abort} {
			select {
			case <-signals:
				act()
			case <-returned:
				return
			}
		}
	}()
	return w.Run(ctx)
}

// Quiet leases nothing more; what the worker has goes on. Run ends with Stop only.
func (w *Worker) Quiet() { w.quieting.set() }

// Stop stops the worker and waits until no job is held. Called by a handler, of whatever worker, it returns at once, and the job of
// the handler is settled as usual. A goroutine for which a handler waits must not call it: it ends the context of Run.
func (w *Worker) Stop() {
	w.stop()
	if w.started.isSet() && !isInHandler() {
		<-w.ended.done
	}
}

// isInHandler returns whether a handler has called, in its own goroutine.
func isInHandler() bool {
	pcs := make([]uintptr, 256)
	n := runtime.Callers(2, pcs)
	// guard: go-stop-sees-the-whole-stack
	for n == len(pcs) {
		pcs = make([]uintptr, 2*n)
		n = runtime.Callers(2, pcs)
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		frame, more := frames.Next()
		if frame.Func != nil && frame.Func.Entry() == isolatedEntry {
			return true
		}
		if !more {
			return false
		}
	}
}

var isolatedEntry = reflect.ValueOf(runIsolated).Pointer()

// Abort gives all jobs back at once, without waiting for handlers.
func (w *Worker) Abort() {
	w.aborting.set()
	w.stop()
}

func (w *Worker) stop() {
	w.stopping.set()
	w.quieting.set()
}

// Leasing

func (w *Worker) leaseLoop() error {
	pauses, empties, failures := 0, 0, 0
	for {
		free := 0
		w.waitUntil(nil, w.quieting.done, func() bool {
			free = w.options.Concurrency - len(w.held)
			return free > 0
		})
		if w.quieting.isSet() {
			return nil
		}
		if free > maxLeases {
			free = maxLeases
		}
		began := time.Now()
		jobs, err := w.leaseByType(free)
		isDoubtful := w.stoodStillSince(began)
		for _, job := range jobs {
			w.take(job, isDoubtful)
		}
		if w.quieting.isSet() {
			return nil
		}
		if err != nil {
			if hopeless[Code(err)] {
				return err
			}
			w.options.Logf("pumphouse: leasing jobs failed; trying again: %v", err)
			failures++
		} else if failures > 0 {
			plural := "s"
			if failures == 1 {
				plural = ""
			}
			w.options.Logf("pumphouse: leasing jobs works again after %d failed request%s", failures, plural)
			failures = 0
		}
		took, isEmpty, pause := time.Since(began), err == nil && len(jobs) == 0, time.Duration(0)
		if err != nil || isEmpty && took < w.options.Wait/2 {
			pause = jitter(firstLeasePause, maxLeasePause, pauses)
			pauses++
		} else {
			pauses = 0
		}
		if isEmpty {
			if least := emptyPause(empties) - took; least > pause {
				pause = least
			}
			empties++
		} else {
			empties = 0
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-w.quieting.done:
			}
		}
	}
}

// emptyPause is the shortest time between two lease requests after n empty answers in a row.
func emptyPause(n int) time.Duration {
	return upperJitter(firstEmpty, maxEmpty, n)
}

// leaseByType asks for jobs of the types of the handlers, and at once for all others too if the server cannot do that.
func (w *Worker) leaseByType(count int) ([]*Job, error) {
	if len(w.types) == 0 || time.Now().Before(w.noTypesUntil) {
		return w.lease(count, nil)
	}
	jobs, err := w.lease(count, w.types)
	// guard: go-leases-without-types
	if isRefusalOfTypes(err) && !w.quieting.isSet() {
		w.noTypesUntil = time.Now().Add(typesAgain)
		if !w.warnedOfTypes {
			w.warnedOfTypes = true
			const format = "pumphouse: the server cannot lease by type; this worker leases jobs of all types, and tries again every " +
				"10 minutes. Upgrade the server, or run `pumphouse format raise`: %v"
			w.options.Logf(format, err)
		}
		return w.lease(count, nil)
	}
	return jobs, err
}

// isRefusalOfTypes is true if Redis has an older data format, or the server is of an older version.
func isRefusalOfTypes(err error) bool {
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "invalid_argument" {
		return Code(err) == "format_too_old"
	}
	for _, one := range refused.Fields() {
		if one.Field == "types" || strings.HasPrefix(one.Field, "types[") {
			return true
		}
	}
	return false
}

// lease asks for jobs once. When the worker is to be quiet it ends the request: by a call, because a proxy does not pass on that its
// connection is closed; then it closes its side of the connection. Jobs that are on their way still arrive.
func (w *Worker) lease(count int, types []any) ([]*Job, error) {
	m := members{"queues": w.options.Queues, "count": count, "worker": w.ID}
	m["wait_ms"], m["ttr_ms"] = w.options.Wait.Milliseconds(), w.options.TTR.Milliseconds()
	m.text("order", w.options.Order)
	m.put("types", types, len(types) > 0)
	body, err := encode(m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	var mu sync.Mutex
	var conn net.Conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		mu.Lock()
		defer mu.Unlock()
		conn = info.Conn
	}})
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-w.quieting.done:
		}
		w.endWaits(ctx)
		mu.Lock()
		if half, canClose := conn.(interface{ CloseWrite() error }); canClose {
			_ = half.CloseWrite()
		}
		mu.Unlock()
		if sleep(ctx, hurry) {
			cancel()
		}
	}()
	var answer rawAnswer
	// The server takes leases back whose answer did not arrive.
	lease := call{method: "POST", path: "leases", body: body, wait: w.options.Wait, isRepeatable: true, client: w.polls}
	limits := w.client.limits
	if limits.Tries > leaseTries {
		limits.Tries = leaseTries
	}
	lease.limits = &limits
	if err := w.client.send(ctx, lease, &answer); err != nil {
		return nil, err
	}
	return leasedJobs(answer)
}

// endWaits ends the lease requests of this worker on all servers. Again and again until the context ends, because a proxy may hold the
// lease request back.
func (w *Worker) endWaits(ctx context.Context) {
	limits := &Limits{Tries: 1, Within: endWaits / 2, Attempt: endWaits / 2}
	for end := time.Now().Add(endWaits); time.Now().Before(end); {
		err := w.client.send(ctx, call{method: "DELETE", path: "workers/" + w.ID + "/waits", isRepeatable: true, limits: limits}, nil)
		if err != nil || !sleep(ctx, endWaits/4) {
			return // It is answered, or the server is away or knows no such call.
		}
	}
}

// take begins with a job. It is doubtful if the process stood still while its lease was on the way: another worker may have it by now.
func (w *Worker) take(job *Job, isDoubtful bool) {
	h := &held{job: job, worker: w, confirmed: time.Now(), runEnds: runEnd(job.MaxRunMs, 0), isDoubtful: isDoubtful}
	h.handler, h.maxRun = w.find(job)
	job.worker, job.held = w, h
	ctx, end := context.WithCancel(context.WithValue(w.ctx, heldKey{}, h))
	h.end = end
	w.mu.Lock()
	w.held[h] = true
	isTooLate := h.handler != nil && w.quieting.isSet()
	h.isAbandoned = isTooLate
	if !isTooLate && h.handler != nil {
		w.running++
	}
	w.mu.Unlock()
	go func() {
		switch {
		case isTooLate:
			w.giveBack(h)
		case h.handler == nil:
			w.giveBackUnhandled(h)
		default:
			w.execute(ctx, h)
		}
	}()
}

// runEnd returns when a run ends that begins now, by the shorter limit; 0 = none. The server ends it a millisecond later, because it has
// the time of the start in whole milliseconds.
func runEnd(jobMs int64, ofHandler time.Duration) time.Time {
	limit := time.Duration(jobMs) * time.Millisecond
	if limit == 0 || ofHandler != 0 && ofHandler < limit {
		limit = ofHandler
	}
	if limit == 0 {
		return time.Time{}
	}
	return time.Now().Add(limit + time.Millisecond)
}

func (w *Worker) find(job *Job) (Handler, time.Duration) {
	for _, key := range []handlerKey{{job.Queue, job.Type}, {"", job.Type}, {job.Queue, AnyType}, {"", AnyType}} {
		if handler := w.handlers[key]; handler != nil {
			return handler, w.maxRuns[key]
		}
	}
	return nil, 0
}

// Running

func (w *Worker) execute(ctx context.Context, h *held) {
	var result any
	var err error
	// guard: go-no-handler-after-a-standstill
	if h.isDoubtful && w.extend(h, members{}) != nil {
		err = &ReleaseError{}
	}
	// guard: go-handler-begins-its-run
	if err == nil && (h.maxRun == 0 || w.begin(h)) {
		result, err = runHandler(ctx, h)
	}
	w.mu.Lock()
	hasCause := h.cause != ""
	w.mu.Unlock()
	o := outcomeOf(h.job, result, err, hasCause)
	w.mu.Lock()
	w.running--
	isOver := h.isAbandoned
	h.isSettling = !isOver
	w.mu.Unlock()
	if isOver {
		return
	}
	if !w.isLost(h) {
		w.settle(h, o)
	}
	w.drop(h)
}

// begin tells the server that the handler begins. Without an answer, or at an older server, it begins all the same. It returns false if
// the job is not this worker's any more.
func (w *Worker) begin(h *held) bool {
	m := members{"begin": true}
	m.duration("max_run_ms", h.maxRun)
	_ = w.extend(h, m)
	w.mu.Lock()
	defer w.mu.Unlock()
	h.runEnds = runEnd(h.job.MaxRunMs, h.maxRun)
	return !isLoss[h.cause] && !h.isAbandoned
}

// extend sends a heartbeat for one job, once.
func (w *Worker) extend(h *held, m members) error {
	m["lease"], m["ttr_ms"] = h.job.Lease, w.options.TTR.Milliseconds()
	timeout, sent := w.attempt(), time.Now()
	err := w.post(w.ctx, "jobs/"+h.job.ID+"/heartbeat", m, &Limits{1, timeout, timeout}, nil)
	if code := Code(err); code == "lease_lost" || code == "job_not_found" {
		w.cancel(h, "lease_lost")
	} else if err == nil {
		w.confirm(h, sent)
	}
	return err
}

// attempt is how long one heartbeat may take.
func (w *Worker) attempt() time.Duration {
	if timeout := w.options.TTR / attemptPart; timeout > minAttempt {
		return least(timeout, maxAttempt)
	}
	return minAttempt
}

// panicError is a panic of a handler, or that it ended its goroutine.
type panicError struct {
	text  string
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %s\n\n%s", e.text, e.stack) }

func runHandler(ctx context.Context, h *held) (result any, err error) {
	if h.job.unreadable != "" {
		return nil, &FailError{Err: errors.New(h.job.unreadable), Group: "invalid_data"}
	}
	if crash := isolated(func() { result, err = h.handler(ctx, h.job) }); crash != nil {
		return nil, crash
	}
	return result, err
}

// isolated runs a handler, or methods of what it returned, in a goroutine of its own: such code may panic, and end its goroutine by
// runtime.Goexit. It returns why the code did not return; nil if it did.
func isolated(code func()) (crash error) {
	done := make(chan struct{})
	// guard: go-handlers-are-isolated
	go runIsolated(code, &crash, done)
	<-done
	return crash
}

func runIsolated(code func(), crash *error, done chan<- struct{}) {
	defer close(done)
	defer func() { _ = recover() }() // The text of a panic may panic.
	hasReturned := false
	defer func() {
		if hasReturned {
			return
		}
		failed := &panicError{"nil, or runtime.Goexit", debug.Stack()}
		*crash = failed
		if value := recover(); value != nil {
			failed.text = fmt.Sprintf("a value of the type %T", value)
			failed.text = panicText(value)
		}
	}()
	code()
	hasReturned = true
}

// settle tells the server how the job ended.
func (w *Worker) settle(h *held, o outcome) {
	if o.ack == nil {
		w.report(h, o.what, o.members)
		return
	}
	status := ""
	err := w.persist(h, func() (err error) {
		status, err = w.acks.add(o.ack)
		// guard: go-waits-for-room
		if err == nil && !isSettled[status] && !isFinal[status] && !hasNoRoomNext[status] && !w.leaving.isSet() {
			// Redis is full, or a newer server says what this client does not know.
			return &Error{Code: status, Message: "the outcome cannot be stored now", Status: 507, Retryable: true}
		}
		return err
	})
	switch {
	case isRefusal(err):
		// The result is too long, or breaks another rule of the server: the job would come again for ever.
		m := failureOf(err)
		m["group"] = invalidOutcome
		w.report(h, "fail", m)
	case err != nil:
		w.logUnsettled(h, err)
	case status == "lease_lost":
		w.warnLost(h)
	case isFinal[status]:
		w.report(h, "fail", members{"group": status, "message": "the job cannot go to its next queue"})
	case hasNoRoomNext[status]:
		// guard: go-full-next-queue-is-tried-again
		w.report(h, "retry", members{"group": status, "message": "the job cannot go to its next queue"})
	case !isSettled[status]:
		w.report(h, "release", members{})
	}
}

// isSettled has the statuses of an ack that end the lease, isFinal those that the same ack gets again: the job fails. hasNoRoomNext has
// those with `next` whose queue may have room later: the try fails, as if the handler had published there.
var (
	isSettled     = map[string]bool{"acked": true, "moved": true, "not_found": true, "lease_lost": true}
	hasNoRoomNext = map[string]bool{"queue_full": true, "too_many_queues": true}
	isFinal       = map[string]bool{"namespace_full": true, "verb_missing": true, "dependency_cycle": true, "too_many_dependencies": true, "missing_dependency": true}
)

// mayPass is true if the same call may succeed while the lease lasts: a full Redis gets room, a proxy finds its server.
func mayPass(refused *Error) bool {
	return refused.Retryable || refused.Code == "store_full" || isUnheard(refused)
}

// isUnheard is true if a proxy in between has refused a call that the server may take. A body that is too long for it stays so.
func isUnheard(refused *Error) bool {
	status := refused.Status
	return refused.isOfProxy() && status >= 400 && status < 500 && status != http.StatusRequestEntityTooLarge
}

// isRefusal is true if the same call fails again: the server refuses what it says, or it cannot be sent. An answer of a proxy, or a
// fault, says nothing of it; 507 is a quota.
func isRefusal(err error) bool {
	var refused *Error
	if !errors.As(err, &refused) {
		return err != nil
	}
	isOver := refused.Code == "lease_lost" || refused.Code == "job_not_found"
	isOfServer := (refused.Status == 507 || refused.Status >= 400 && refused.Status < 500) &&
		(!refused.isOfProxy() || refused.Status == http.StatusRequestEntityTooLarge)
	// guard: go-only-refusals-fail-jobs
	return isOfServer && !mayPass(refused) && !isOver && refused.Status != 401
}

// report releases, retries or fails a job.
func (w *Worker) report(h *held, what string, m members) { w.reportOr(h, what, m, nil) }

// reportOr is report. What the server refuses is sent again, without what may be the reason; older is what an older server takes,
// which refuses members that it does not know.
func (w *Worker) reportOr(h *held, what string, m, older members) {
	if what != "release" {
		w.warnFailed(h.job, what, m["group"])
	}
	post := func() error { return w.post(w.ctx, "jobs/"+h.job.ID+"/"+what, m, nil, nil) }
	m["lease"] = h.job.Lease
	err := w.persist(h, post)
	// guard: go-refused-ending-is-sent-again
	if isRefusal(err) {
		m = older
		if m == nil {
			const format = "pumphouse: the outcome of a job was refused; it is settled without it: %s %s: %v"
			w.options.Logf(format, h.job.Queue, h.job.ID, err)
			m = members{}
		}
		if what != "release" {
			m["group"], m["message"] = invalidOutcome, failureOf(err)["message"]
		}
		m["lease"] = h.job.Lease
		err = w.persist(h, post)
	}
	var refused *Error
	switch {
	case err == nil || Code(err) == "job_not_found":
	case Code(err) != "lease_lost":
		w.logUnsettled(h, err)
	case errors.As(err, &refused) && !refused.mayBeDone:
		w.warnLost(h) // Else an earlier attempt, whose answer was lost, has ended the lease.
	}
}

// persist sends one operation, again and again until the lease would have ended.
func (w *Worker) persist(h *held, operation func() error) error {
	began := time.Now()
	for pauses := 0; ; pauses++ {
		err := operation()
		w.mu.Lock()
		isOver := time.Since(h.confirmed) > w.options.TTR || w.aborting.isSet()
		w.mu.Unlock()
		var refused *Error
		if isOver || !errors.As(err, &refused) || !mayPass(refused) {
			return err
		}
		// Heartbeats may keep the lease for ever, while a proxy refuses each outcome.
		if isUnheard(refused) && time.Since(began) > w.options.TTR {
			return err
		}
		// A stop waits for one lease more: by then another worker may do what this one cannot store.
		// guard: go-stop-ends
		if w.leaving.isSet() && time.Since(began) > w.options.TTR && time.Since(w.left) > w.options.TTR {
			_ = w.post(w.ctx, "jobs/"+h.job.ID+"/release", members{"lease": h.job.Lease}, nil, nil)
			return err
		}
		w.warnOnce(h, "wait", "the outcome of a job waits until the server can store it", err)
		time.Sleep(jitter(firstLeasePause, maxLeasePause, pauses))
	}
}

func (w *Worker) giveBackUnhandled(h *held) {
	kind := fmt.Sprintf("queue %s, type %q", h.job.Queue, h.job.Type)
	w.mu.Lock()
	isNew := !w.warned[kind]
	w.warned[kind] = true
	h.isSettling = true
	w.mu.Unlock()
	if isNew {
		const format = "pumphouse: no handler for jobs of this type; they are given back (no_handler): %s. " +
			"Register a handler, or give the type a queue of its own"
		w.options.Logf(format, kind)
	}
	delay, older := w.options.UnhandledDelay, members{}
	defaultTo(&delay, oldUnhandled)
	older.duration("delay_ms", delay)
	m := members{"reason": "no_handler", "worker": w.ID}
	m.duration("delay_ms", w.options.UnhandledDelay)
	if !w.isLost(h) {
		w.reportOr(h, "release", m, older)
	}
	w.drop(h)
}

func (w *Worker) isLost(h *held) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return isLoss[h.cause]
}

// giveBack releases a job whose handler has not begun, or is not waited for any longer.
func (w *Worker) giveBack(h *held) {
	if !w.isLost(h) {
		w.report(h, "release", members{})
	}
	w.drop(h)
}

func (w *Worker) drop(h *held) {
	h.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, h)
	close(w.change)
	w.change = make(chan struct{})
}

// Leases

// keepLeases sends heartbeats until the last job is settled, and ends the contexts of jobs whose time is over: also while a heartbeat
// is on its way.
func (w *Worker) keepLeases() {
	tick := w.tick()
	var due time.Time
	var beating chan error // nil: no heartbeat is on its way.
	hasWarned := false
	for {
		w.noteWatch()
		for _, h := range w.all() {
			if w.unconfirmedIn(h) < 0 {
				w.cancel(h, "lease_unconfirmed")
			}
			// guard: go-run-end-cancels
			if w.isRunOver(h) {
				w.cancel(h, "max_run_exceeded")
			}
		}
		if beating == nil && !time.Now().Before(due) {
			beating = make(chan error, 1)
			// guard: go-watches-beside-heartbeats
			go func() { beating <- w.heartbeat() }()
		}
		select {
		case <-time.After(tick):
		case err := <-beating:
			beating = nil
			pause := w.options.TTR / heartbeatPart
			pause += time.Duration(randomBelow(int64(pause/5)+1)) - pause/10
			var refused *Error
			if err != nil {
				pause = w.options.TTR / againPart
				// Without leases: what refuses it, a wrong token for example, refuses the first lease request too, whose error Run returns.
				if len(w.all()) > 0 && errors.As(err, &refused) && !refused.Retryable && !hasWarned {
					hasWarned = true
					w.options.Logf("pumphouse: the heartbeats of this worker are refused: its leases will end: %v", err)
				}
			}
			due = time.Now().Add(pause)
		case <-w.ended.done:
			if beating != nil {
				<-beating
			}
			return
		}
	}
}

// tick is how often it is seen what is due.
func (w *Worker) tick() time.Duration {
	if tick := w.options.TTR / ticksPerLease; tick > 5*time.Millisecond {
		return least(tick, time.Second)
	}
	return 5 * time.Millisecond
}

func (w *Worker) noteWatch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isWatchLate() {
		w.stoodStill = time.Now()
	}
	w.watched = time.Now()
}

// isWatchLate is called under the mutex.
func (w *Worker) isWatchLate() bool {
	return time.Since(w.watched) > w.tick()+w.options.TTR/latePart
}

// stoodStillSince returns whether the process stood still, for a part of the lease, at some time since then: as by SIGSTOP.
func (w *Worker) stoodStillSince(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stoodStill.After(at) || w.isWatchLate()
}

// isRunOver returns whether a handler runs for longer than it may.
func (w *Worker) isRunOver(h *held) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !h.isSettling && !h.runEnds.IsZero() && !time.Now().Before(h.runEnds)
}

// unconfirmedIn returns how long it is until another worker may get the job soon: 80 % of the lease without an answer.
func (w *Worker) unconfirmedIn(h *held) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options.TTR/5*4 - time.Since(h.confirmed)
}

// heartbeat sends one for all leases.
func (w *Worker) heartbeat() error {
	helds := w.all()
	leases := make([]members, len(helds))
	for i, h := range helds {
		leases[i] = members{"id": h.job.ID, "lease": h.job.Lease}
	}
	timeout, sent := w.attempt(), time.Now()
	var answer struct {
		Jobs []struct {
			Status          string
			CancelRequested bool `json:"cancel_requested"`
		}
		Quiet, Stop bool
	}
	m := members{"ttr_ms": w.options.TTR.Milliseconds(), "leases": leases, "info": w.info}
	if err := w.post(w.ctx, "workers/"+w.ID+"/heartbeat", m, &Limits{1, timeout, timeout}, &answer); err != nil {
		return err
	}
	if len(answer.Jobs) != len(helds) {
		return &Error{Code: "invalid_response", Message: "not one answer for each lease"}
	}
	for i, extended := range answer.Jobs {
		if extended.Status != "extended" {
			w.lose(helds[i])
			continue
		}
		w.confirm(helds[i], sent)
		if extended.CancelRequested {
			w.cancel(helds[i], "cancelled")
		}
	}
	if answer.Stop {
		w.stop()
	} else if answer.Quiet {
		w.Quiet()
	}
	return nil
}

func (w *Worker) confirm(h *held, sent time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sent.After(h.confirmed) {
		h.confirmed = sent
	}
}

// lose ends the context of a handler. Of a job whose ack is on its way the answer to the ack counts.
func (w *Worker) lose(h *held) {
	w.mu.Lock()
	isSettling := h.isSettling
	w.mu.Unlock()
	if !isSettling {
		w.cancel(h, "lease_lost")
	}
}

// cancel ends the context of a handler. The first cause counts, but that a lost lease comes before all others.
func (w *Worker) cancel(h *held, cause string) {
	w.mu.Lock()
	if h.cause == "" || isLoss[cause] && !isLoss[h.cause] {
		h.cause = cause
	}
	w.mu.Unlock()
	h.end()
}

// all returns the jobs that are held, but those whose lease is lost.
func (w *Worker) all() []*held {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*held, 0, len(w.held))
	for h := range w.held {
		if !isLoss[h.cause] {
			all = append(all, h)
		}
	}
	return all
}

// Stopping

func (w *Worker) drain() {
	isEmpty := func() bool { return len(w.held) == 0 }
	w.waitFor(w.options.ShutdownGrace, w.aborting.done, isEmpty)
	for _, h := range w.all() {
		w.cancel(h, "shutdown")
	}
	w.waitFor(w.options.ShutdownAbort, w.aborting.done, isEmpty)
	w.mu.Lock()
	for h := range w.held {
		if !h.isSettling && !h.isAbandoned {
			h.isAbandoned = true
			go w.giveBack(h)
		}
	}
	w.mu.Unlock()
	w.left = time.Now()
	// guard: go-stops-in-a-full-store
	w.leaving.set()
	// Each operation ends by itself when the lease would have ended.
	if w.aborting.isSet() {
		w.waitFor(atOnce, nil, isEmpty)
	} else {
		w.waitUntil(nil, nil, isEmpty)
	}
}

// waitFor is waitUntil for a time at most.
func (w *Worker) waitFor(limit time.Duration, end <-chan struct{}, isMet func() bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	w.waitUntil(timer.C, end, isMet)
}

// waitUntil waits for a condition that is read under the mutex, or until one of two channels says that it is over; nil never does.
func (w *Worker) waitUntil(over <-chan time.Time, end <-chan struct{}, isMet func() bool) {
	for {
		w.mu.Lock()
		isDone, change := isMet(), w.change
		w.mu.Unlock()
		if isDone {
			return
		}
		select {
		case <-change:
		case <-over:
			return
		case <-end:
			return
		}
	}
}

func (w *Worker) post(ctx context.Context, path string, body members, limits *Limits, into any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	return w.client.send(ctx, call{method: "POST", path: path, body: text, isRepeatable: true, limits: limits}, into)
}

// warnOnce logs one warning of each kind for a job.
func (w *Worker) warnOnce(h *held, kind, text string, err error) {
	w.mu.Lock()
	isNew := !h.warned[kind]
	if h.warned == nil {
		h.warned = map[string]bool{}
	}
	h.warned[kind] = true
	w.mu.Unlock()
	if isNew {
		w.options.Logf("pumphouse: %s: %v: %s %s", text, err, h.job.Queue, h.job.ID)
	}
}

// warnFailed logs no message, which may have data of the job: the server keeps it.
func (w *Worker) warnFailed(job *Job, what string, group any) {
	text := "an attempt at a job failed"
	if what == "fail" {
		text = "a job failed and is not tried again"
	}
	const format = "pumphouse: %s: %s %s, attempt %d, tries left %d: %v"
	w.options.Logf(format, text, job.Queue, job.ID, job.Attempts, job.TriesLeft, group)
}

func (w *Worker) warnLost(h *held) {
	const format = "pumphouse: the lease of a job was lost before it was settled; another worker may run it too: %s %s"
	w.options.Logf(format, h.job.Queue, h.job.ID)
}

func (w *Worker) logUnsettled(h *held, err error) {
	const format = "pumphouse: a job could not be settled; it comes again when its lease ends: %s %s: %v"
	w.options.Logf(format, h.job.Queue, h.job.ID, err)
}

// latch is set once.
type latch struct {
	done chan struct{}
	once *sync.Once
}

func newLatch() latch { return latch{make(chan struct{}), new(sync.Once)} }

func (l latch) set() { l.once.Do(func() { close(l.done) }) }

func (l latch) isSet() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// detached has the values of a context, but does not end with it.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// ackBatcher sends acks together: up to 100, or those of 5 ms, or those there are when no handler runs that could add one.
type ackBatcher struct {
	worker  *Worker
	mu      sync.Mutex
	waiting []*pendingAck
}

type pendingAck struct {
	text   []byte
	status string
	err    error
	// isAlone: it is to be sent without those that it was sent with.
	isAlone bool
	done    chan struct{}
}

const (
	batchFor = 5 * time.Millisecond
	maxBatch = 100
)

// add returns what became of an ack. The goroutine that comes first sends those of the others, or the one that fills the batch.
func (b *ackBatcher) add(text []byte) (string, error) {
	ack := &pendingAck{text: text, done: make(chan struct{})}
	var full []*pendingAck
	b.mu.Lock()
	b.waiting = append(b.waiting, ack)
	isFirst := len(b.waiting) == 1
	// guard: go-batches-are-bounded
	if len(b.waiting) == maxBatch {
		full, b.waiting = b.waiting, nil
	}
	b.mu.Unlock()
	if full != nil {
		b.flush(full)
	} else if isFirst {
		b.worker.mu.Lock()
		isIdle := b.worker.running == 0
		b.worker.mu.Unlock()
		if !isIdle {
			time.Sleep(batchFor)
		}
		var batch []*pendingAck
		b.mu.Lock()
		if len(b.waiting) > 0 && b.waiting[0] == ack { // Else another goroutine has filled the batch, and sent it.
			batch, b.waiting = b.waiting, nil
		}
		b.mu.Unlock()
		if batch != nil {
			b.flush(batch)
		}
	}
	<-ack.done
	if ack.isAlone {
		alone := &pendingAck{text: text, done: make(chan struct{})}
		b.flush([]*pendingAck{alone})
		return alone.status, alone.err
	}
	return ack.status, ack.err
}

func (b *ackBatcher) flush(batch []*pendingAck) {
	texts := make([][]byte, len(batch))
	for i, ack := range batch {
		texts[i] = ack.text
	}
	// Not by encode: it refuses JSON texts that are nested more than 10,000 deep.
	body := bytes.Join([][]byte{[]byte(`{"acks":[`), bytes.Join(texts, []byte(",")), []byte("]}")}, nil)
	var answer struct{ Results []struct{ Status string } }
	w := b.worker
	err := w.client.send(w.ctx, call{method: "POST", path: "acks", body: body, isRepeatable: true}, &answer)
	var refused *Error
	isPassing := errors.As(err, &refused) && refused.Retryable
	// guard: go-refused-ack-is-alone
	if len(batch) > 1 && err != nil && !isPassing {
		// One that is refused, or cannot be sent, stops all that are with it: the goroutine of each sends its own, to find it.
		for _, ack := range batch {
			ack.isAlone = true
			close(ack.done)
		}
		return
	}
	for i, ack := range batch {
		ack.status, ack.err = "not_found", err
		if i < len(answer.Results) {
			ack.status = answer.Results[i].Status
		}
		close(ack.done)
	}
}
