package pumphouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

// lines collects what a worker logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

// until waits for a line with a text.
func (l *lines) until(t *testing.T, text string) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if found := l.with(text); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatalf("no line has %s", text)
	return ""
}

func (l *lines) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func start(t *testing.T, worker *pumphouse.Worker) {
	t.Helper()
	done := make(chan error)
	go func() { done <- worker.Run(ctx) }()
	t.Cleanup(func() {
		worker.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func newWorker(t *testing.T, client *pumphouse.Client, log *lines, queues ...string) *pumphouse.Worker {
	t.Helper()
	worker, err := client.NewWorker(pumphouse.WorkerOptions{Queues: queues, Logf: log.add})
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

// ended is a job when it has ended.
func ended(t *testing.T, client *pumphouse.Client, job pumphouse.NewJob) *pumphouse.JobDetails {
	t.Helper()
	job.Retention, job.Tries = time.Minute, 1
	published, err := client.Publish(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		shown, err := client.Job(ctx, published.ID)
		if err != nil {
			t.Fatal(err)
		}
		if shown.State == "done" || shown.State == "dead" {
			return shown
		}
	}
	t.Fatal("the job has not ended")
	return nil
}

func returns(value any) pumphouse.Handler {
	return func(context.Context, *pumphouse.Job) (any, error) { return value, nil }
}

func TestQueuesComeFromTheHandlers(t *testing.T) {
	client, log, queue := newClient(t, pumphouse.Config{}), new(lines), queueName(t)
	worker := newWorker(t, client, log)
	worker.HandleQueue(queue, "a", returns("from a"))
	worker.HandleQueue(queue, "b", returns("from b"))
	start(t, worker)
	shown := ended(t, client, pumphouse.NewJob{Queue: queue, Type: "b"})
	if string(shown.Result.JSON) != `"from b"` || len(log.all) != 0 {
		t.Errorf("the result is %s, the log %v", shown.Result.JSON, log.all)
	}
}

func TestQueuesAreMissingWhereNeitherOptionsNorHandlersNameOne(t *testing.T) {
	worker := newWorker(t, newClient(t, pumphouse.Config{}), new(lines))
	worker.Handle("a", returns(nil))
	if err := worker.Run(ctx); err == nil || !strings.Contains(err.Error(), "Queues is missing") {
		t.Errorf("the error is %v", err)
	}
	worker.Stop()
}

func TestQueuesThatNoHandlerMatchesAreWarnedOfOnceAtTheStart(t *testing.T) {
	log := new(lines)
	worker := newWorker(t, newClient(t, pumphouse.Config{}), log, "mial")
	worker.HandleQueue("mail", "welcome", returns(nil))
	stopped, stop := context.WithCancel(ctx)
	stop()
	if err := worker.Run(stopped); err != nil {
		t.Error(err)
	}
	want := regexp.MustCompile(`do not match: it has handlers of queues .*: mail; no handler .*: mial$`)
	if len(log.all) != 1 || !want.MatchString(log.all[0]) {
		t.Errorf("the log is %q", log.all)
	}
}

func TestLogCutsLongLines(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	worker := newWorker(t, client, new(lines), queue)
	worker.Handle(pumphouse.AnyType, func(ctx context.Context, job *pumphouse.Job) (any, error) {
		return nil, job.Log(ctx, strings.Repeat("😀", 600), nil)
	})
	start(t, worker)
	shown := ended(t, client, pumphouse.NewJob{Queue: queue})
	found := false
	for _, entry := range shown.Timeline {
		found = found || entry["message"] == strings.Repeat("😀", 511)+"…"
	}
	if !found || shown.State != "done" {
		t.Errorf("the job is %s, its timeline %v", shown.State, shown.Timeline)
	}
}

func TestAWorkerInAFullStoreWarnsOnceOfEachKind(t *testing.T) {
	target, err := url.Parse(os.Getenv("PUMPHOUSE_URL"))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	refusals := int32(0)
	proxy := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		isAck := strings.HasSuffix(request.URL.Path, "/acks") && atomic.AddInt32(&refusals, 1) <= 3
		if isAck || strings.HasSuffix(request.URL.Path, "/log") {
			answer.WriteHeader(http.StatusInsufficientStorage)
			_, _ = answer.Write([]byte(`{"code":"store_full","detail":"the store is full"}`))
			return
		}
		forward.ServeHTTP(answer, request)
	}))
	defer proxy.Close()
	client, log, queue := newClient(t, pumphouse.Config{URL: proxy.URL}), new(lines), queueName(t)
	worker := newWorker(t, client, log, queue)
	worker.Handle(pumphouse.AnyType, func(ctx context.Context, job *pumphouse.Job) (any, error) {
		if err := job.Log(ctx, "a", nil); err != nil {
			return nil, err
		}
		return nil, job.Log(ctx, "b", nil)
	})
	start(t, worker)
	if shown := ended(t, client, pumphouse.NewJob{Queue: queue}); shown.State != "done" {
		t.Errorf("the job is %+v", shown)
	}
	text := strings.Join(log.all, "\n")
	want := regexp.MustCompile(`^.*a line was not written .*store_full.*\n.*waits until the server can store it.*store_full.*$`)
	if len(log.all) != 2 || !want.MatchString(text) {
		t.Errorf("the log is %s", text)
	}
	worker.Stop()
}

func TestAFailedAttemptIsLoggedWithoutItsMessage(t *testing.T) {
	client, log, queue := newClient(t, pumphouse.Config{}), new(lines), queueName(t)
	worker := newWorker(t, client, log, queue)
	fails := func(err error) pumphouse.Handler {
		return func(context.Context, *pumphouse.Job) (any, error) { return nil, err }
	}
	worker.Handle("retry", fails(errors.New("with data")))
	worker.Handle("fail", fails(&pumphouse.FailError{Err: errors.New("with data"), Group: "smtp"}))
	start(t, worker)
	retried := ended(t, client, pumphouse.NewJob{Queue: queue, Type: "retry"})
	failed := ended(t, client, pumphouse.NewJob{Queue: queue, Type: "fail"})
	want := []string{
		fmt.Sprintf("pumphouse: an attempt at a job failed: %s %s, attempt 1, tries left 0: %s", queue, retried.ID, retried.Failure.Group),
		fmt.Sprintf("pumphouse: a job failed and is not tried again: %s %s, attempt 1, tries left 0: smtp", queue, failed.ID),
	}
	if strings.Join(log.all, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log is %q", log.all)
	}
}

func TestALineSaysThatLeasingWorksAgain(t *testing.T) {
	address, log := deadAddress(t), new(lines)
	worker := newWorker(t, newClient(t, pumphouse.Config{URL: "http://" + address}), log, "mail")
	worker.Handle(pumphouse.AnyType, returns(nil))
	start(t, worker)
	began := time.Now()
	log.until(t, "leasing jobs failed; trying again: ")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the first line comes after %v", took)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = answer.Write([]byte(`{"jobs":[]}`))
	}))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	over := log.until(t, "leasing jobs works again")
	failures, plural := len(log.with("leasing jobs failed")), "s"
	if failures == 1 {
		plural = ""
	}
	if want := fmt.Sprintf("pumphouse: leasing jobs works again after %d failed request%s", failures, plural); over != want {
		t.Errorf("the line is %s, not %s", over, want)
	}
	time.Sleep(500 * time.Millisecond)
	if again := log.with("works again"); len(again) != 1 {
		t.Errorf("the log has %q", again)
	}
	worker.Stop()
}

// leaseServer answers lease requests, and sends the types that each of them names.
func leaseServer(t *testing.T, answer func(types []any) (status int, body string)) (*pumphouse.Client, <-chan []any) {
	t.Helper()
	seen := make(chan []any, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !strings.HasSuffix(request.URL.Path, "/leases") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var body struct{ Types []any }
		if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		status, text := answer(body.Types)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
		seen <- body.Types
	}))
	t.Cleanup(server.Close)
	return newClient(t, pumphouse.Config{URL: server.URL}), seen
}

func TestLeaseRequestsNameTheTypesOfTheHandlersUnlessTheseTakeAllOrAreTooMany(t *testing.T) {
	client, seen := leaseServer(t, func([]any) (int, string) { return 200, `{"jobs":[]}` })
	many := make([][2]string, 65)
	for i := range many {
		many[i] = [2]string{"", fmt.Sprintf("t%02d", i)}
	}
	for _, row := range []struct {
		handlers [][2]string
		want     string
	}{
		{[][2]string{{"", "b"}, {"mail", "a"}, {"mail", "b"}, {"", ""}, {"other", "*"}}, "[<nil> a b]"},
		{[][2]string{{"", "a"}, {"mail", "*"}}, "[]"},
		{[][2]string{{"", "a"}, {"", "*"}}, "[]"},
		{nil, "[]"},
		{many, "[]"},
	} {
		worker := newWorker(t, client, new(lines), "mail")
		for _, handler := range row.handlers {
			worker.HandleQueue(handler[0], handler[1], returns(nil))
		}
		start(t, worker)
		if types := fmt.Sprint(<-seen); types != row.want {
			t.Errorf("the types are %s, not %s", types, row.want)
		}
		worker.Stop()
		for len(seen) > 0 {
			<-seen
		}
	}
}

func TestAWorkerNamesNoTypesForAWhileAfterARefusalWhichIsLoggedOnce(t *testing.T) {
	again := *pumphouse.TypesAgain
	if again != 10*time.Minute {
		t.Errorf("it is %v", again)
	}
	*pumphouse.TypesAgain = 300 * time.Millisecond
	t.Cleanup(func() { *pumphouse.TypesAgain = again })
	tooOld := `{"code":"format_too_old","detail":"the format is 3"}`
	older := `{"code":"invalid_argument","errors":[{"field":"types","rule":"unknown field"}]}`
	for status, refusal := range map[int]string{409: tooOld, 400: older} {
		client, seen := leaseServer(t, func(types []any) (int, string) {
			if len(types) > 0 {
				return status, refusal
			}
			return 200, `{"jobs":[]}`
		})
		log := new(lines)
		worker := newWorker(t, client, log, "mail")
		worker.Handle("known", returns(nil))
		start(t, worker)
		named, first := 0, []string{}
		for named < 3 {
			types := fmt.Sprint(<-seen)
			first = append(first, types)
			if types != "[]" {
				named++
			}
		}
		worker.Stop()
		if got := fmt.Sprint(first[:3]); got != "[[known] [] []]" || first[len(first)-2] != "[]" {
			t.Errorf("the types are %s", first)
		}
		if len(log.all) != 1 || !strings.Contains(log.all[0], "cannot lease by type; ") || !strings.Contains(log.all[0], "`pumphouse format raise`: ") {
			t.Errorf("the log is %q", log.all)
		}
	}
}

func TestAResultWithoutJSONIsNamedByItsPlace(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	worker := newWorker(t, client, new(lines), queue)
	progress := make(chan error, 1)
	worker.Handle(pumphouse.AnyType, func(ctx context.Context, job *pumphouse.Job) (any, error) {
		progress <- job.SetProgress(ctx, []float64{math.NaN()})
		return map[string]any{"a": make(chan int)}, nil
	})
	start(t, worker)
	failure := ended(t, client, pumphouse.NewJob{Queue: queue}).Failure
	if failure.Group != "invalid_output" || !strings.Contains(failure.Message, "Result.a: must be JSON, not chan int") {
		t.Errorf("the failure is %+v", failure)
	}
	if err := <-progress; err == nil || !strings.Contains(err.Error(), "Progress[0]: must not be NaN") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPanicShowsItsValue(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	worker := newWorker(t, client, new(lines), queue)
	worker.Handle(pumphouse.AnyType, func(context.Context, *pumphouse.Job) (any, error) {
		panic(map[string]int{"status": 503})
	})
	start(t, worker)
	failure := ended(t, client, pumphouse.NewJob{Queue: queue}).Failure
	if failure.Group != "panic" || !strings.HasPrefix(failure.Message, `panic: a value of the type map[string]int: {"status":503}`) {
		t.Errorf("the failure is %+v", failure)
	}
}

// limited is a handler that runs until its context ends, and says why it has.
func limited(causes chan<- string) pumphouse.Handler {
	return func(ctx context.Context, job *pumphouse.Job) (any, error) {
		<-ctx.Done()
		causes <- fmt.Sprintf("%d %s", job.MaxRunMs, pumphouse.Code(pumphouse.Cause(ctx)))
		return "too late", nil
	}
}

func TestALimitOfTheRunEndsTheContextAndFailsTheJob(t *testing.T) {
	for name, limit := range map[string]struct {
		ofJob, ofHandler time.Duration
		want             string
	}{
		"handler": {0, 200 * time.Millisecond, "0 max_run_exceeded"},
		"job":     {200 * time.Millisecond, 0, "200 max_run_exceeded"},
		"shorter": {time.Hour, 200 * time.Millisecond, "3600000 max_run_exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			client, log, queue := newClient(t, pumphouse.Config{}), new(lines), queueName(t)
			worker, causes := newWorker(t, client, log), make(chan string, 1)
			worker.HandleQueue(queue, "slow", limited(causes), pumphouse.HandlerOptions{MaxRun: limit.ofHandler})
			start(t, worker)
			shown := ended(t, client, pumphouse.NewJob{Queue: queue, Type: "slow", MaxRun: limit.ofJob})
			want(t, []any{shown.Failure.Group, <-causes}, []any{"max_run_exceeded", limit.want})
		})
	}
}

func TestALimitOfAHandlerCountsOnlyForItsJobs(t *testing.T) {
	client, log, queue := newClient(t, pumphouse.Config{}), new(lines), queueName(t)
	worker := newWorker(t, client, log)
	worker.HandleQueue(queue, "other", returns("other"), pumphouse.HandlerOptions{MaxRun: time.Millisecond})
	worker.HandleQueue(queue, "a", func(context.Context, *pumphouse.Job) (any, error) {
		time.Sleep(200 * time.Millisecond)
		return "in time", nil
	})
	start(t, worker)
	want(t, ended(t, client, pumphouse.NewJob{Queue: queue, Type: "a"}).State, "done")
}

func TestALimitOfLessThanAMillisecondIsRefused(t *testing.T) {
	worker := newWorker(t, newClient(t, pumphouse.Config{}), new(lines))
	defer func() { want(t, recover(), "pumphouse: MaxRun: must be a millisecond or more") }()
	worker.Handle("a", returns(nil), pumphouse.HandlerOptions{MaxRun: time.Microsecond})
}
