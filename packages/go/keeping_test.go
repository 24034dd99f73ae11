package pumphouse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

// workerServer is a server for a worker: it leases the jobs that are sent to it, one by one, and takes their outcomes.
type workerServer struct {
	url    string
	client *pumphouse.Client
	jobs   chan string // JSON of further members, behind a comma.
	// heartbeat decides about each heartbeat of the session: after how long it is answered; negative = never.
	heartbeat func() time.Duration
	// lease is called for each lease request; it may wait.
	lease func()
	// lost: heartbeats of single jobs say that the lease is lost.
	lost bool
	// acks gets the number of acks of each request, and says whether it is refused.
	acks func(count int) bool
}

func newWorkerServer(t *testing.T, with ...func(*workerServer)) *workerServer {
	t.Helper()
	s := &workerServer{jobs: make(chan string, 1000)}
	s.heartbeat = func() time.Duration { return 0 }
	s.acks = func(int) bool { return false }
	s.lease = func() {}
	for _, set := range with {
		set(s)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			Count        int
			Leases, Acks []any
		}
		_ = json.NewDecoder(request.Body).Decode(&body)
		switch path := request.URL.Path; {
		case strings.HasSuffix(path, "/leases"):
			s.lease()
			jobs := []string{}
			for len(s.jobs) > 0 && len(jobs) < body.Count {
				id := <-s.jobs
				jobs = append(jobs, fmt.Sprintf(`{"queue":"q","lease":1,"id":%s}`, id))
			}
			fmt.Fprintf(w, `{"jobs":[%s]}`, strings.Join(jobs, ","))
		case strings.HasSuffix(path, "/heartbeat") && strings.Contains(path, "/jobs/"):
			if s.lost {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"code":"lease_lost"}`)
			}
		case strings.HasSuffix(path, "/heartbeat"):
			wait := s.heartbeat()
			if wait < 0 {
				<-request.Context().Done()
				return
			}
			time.Sleep(wait)
			extended := make([]string, len(body.Leases))
			for i := range extended {
				extended[i] = `{"status":"extended"}`
			}
			fmt.Fprintf(w, `{"jobs":[%s]}`, strings.Join(extended, ","))
		case strings.HasSuffix(path, "/acks"):
			if s.acks(len(body.Acks)) {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"code":"invalid_argument"}`)
				return
			}
			acked := make([]string, len(body.Acks))
			for i := range acked {
				acked[i] = `{"status":"acked"}`
			}
			fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(acked, ","))
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(server.Close)
	s.url, s.client = server.URL, newClient(t, pumphouse.Config{URL: server.URL})
	return s
}

func (s *workerServer) worker(t *testing.T, options pumphouse.WorkerOptions) *pumphouse.Worker {
	t.Helper()
	options.Queues, options.Logf = []string{"q"}, new(lines).add
	worker, err := s.client.NewWorker(options)
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

func TestAHandlerThatIgnoresItsEndKeepsNoOtherJobFromItsHeartbeats(t *testing.T) {
	server := newWorkerServer(t)
	began := time.Now()
	server.heartbeat = func() time.Duration {
		if time.Since(began) < 1300*time.Millisecond {
			return -1
		}
		return 100 * time.Millisecond
	}
	worker := server.worker(t, pumphouse.WorkerOptions{TTR: 1500 * time.Millisecond, Wait: time.Millisecond})
	doubtful, over, second := make(chan string, 1), make(chan bool), make(chan error, 1)
	worker.Handle(pumphouse.AnyType, func(ctx context.Context, job *pumphouse.Job) (any, error) {
		if job.ID == "first" {
			<-ctx.Done()
			doubtful <- pumphouse.Code(pumphouse.Cause(ctx))
			<-over
			return nil, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(4 * time.Second):
		}
		second <- pumphouse.Cause(ctx)
		return nil, nil
	})
	server.jobs <- `"first"`
	start(t, worker)
	want(t, <-doubtful, "lease_unconfirmed")
	server.jobs <- `"second"`
	if cause := <-second; cause != nil {
		t.Error(cause)
	}
	close(over)
	worker.Stop()
}

func TestARunEndsInTimeAlsoWhileAHeartbeatHangs(t *testing.T) {
	server := newWorkerServer(t)
	over := make(chan bool)
	server.heartbeat = func() time.Duration {
		<-over
		return 0
	}
	worker := server.worker(t, pumphouse.WorkerOptions{Wait: time.Millisecond})
	ended := make(chan string, 1)
	worker.Handle(pumphouse.AnyType, limited(ended))
	server.jobs <- `"a","max_run_ms":300`
	start(t, worker)
	select {
	case cause := <-ended:
		want(t, cause, "300 max_run_exceeded")
	case <-time.After(5 * time.Second):
		t.Error("it has not ended")
	}
	close(over)
	worker.Stop()
}

func TestAcksGoTogetherUpToAHundredAndEachByItselfWhereOneIsRefused(t *testing.T) {
	server := newWorkerServer(t)
	most, open, peak := int32(0), int32(0), int32(0)
	server.acks = func(count int) bool {
		if raised(&most, int32(count)); count > 1 {
			return true
		}
		raised(&peak, atomic.AddInt32(&open, 1))
		time.Sleep(100 * time.Millisecond)
		atomic.AddInt32(&open, -1)
		return false
	}
	const all = 250
	worker := server.worker(t, pumphouse.WorkerOptions{Wait: time.Millisecond, Concurrency: all})
	begun, goOn := make(chan bool, all), make(chan bool)
	worker.Handle(pumphouse.AnyType, func(context.Context, *pumphouse.Job) (any, error) {
		begun <- true
		<-goOn
		return nil, nil
	})
	for i := 0; i < all; i++ {
		server.jobs <- fmt.Sprintf(`"job%d"`, i)
	}
	start(t, worker)
	for i := 0; i < all; i++ {
		<-begun
	}
	close(goOn)
	worker.Stop()
	if most > 100 || most < 10 || peak < 10 {
		t.Errorf("there were up to %d acks in a request, and up to %d single ones at once", most, peak)
	}
}

// raised sets a number to another one that is higher.
func raised(number *int32, to int32) {
	for known := atomic.LoadInt32(number); known < to; known = atomic.LoadInt32(number) {
		if atomic.CompareAndSwapInt32(number, known, to) {
			return
		}
	}
}

// TestStoppedProcess is no test: it is the worker of the process that the next test stops.
func TestStoppedProcess(t *testing.T) {
	url := os.Getenv("PUMPHOUSE_STOPPED")
	if url == "" {
		return
	}
	worker, err := newClient(t, pumphouse.Config{URL: url}).NewWorker(pumphouse.WorkerOptions{
		Queues: []string{"q"}, TTR: time.Second, Wait: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(pumphouse.AnyType, func(context.Context, *pumphouse.Job) (any, error) {
		fmt.Println("begun")
		return nil, nil
	})
	start(t, worker)
	time.Sleep(time.Minute)
}

func TestNoHandlerBeginsUnderALeaseThatWasLostDuringAStandstill(t *testing.T) {
	for isLost, count := range map[bool]int{true: 0, false: 1} {
		isLost, arrived, leased := isLost, make(chan bool, 100), make(chan bool)
		server := newWorkerServer(t, func(s *workerServer) {
			s.lost, s.lease = isLost, func() {
				arrived <- true
				<-leased
			}
		})
		server.jobs <- `"a"`
		output := new(bytes.Buffer)
		process := exec.Command(os.Args[0], "-test.run=^TestStoppedProcess$")
		process.Env = append(os.Environ(), "PUMPHOUSE_STOPPED="+server.url)
		process.Stdout = output
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		<-arrived
		// The answer arrives while the process stands still.
		_ = process.Process.Signal(syscall.SIGSTOP)
		// The last of its threads stands still a moment later.
		time.Sleep(200 * time.Millisecond)
		close(leased)
		time.Sleep(1500 * time.Millisecond)
		_ = process.Process.Signal(syscall.SIGCONT)
		time.Sleep(1500 * time.Millisecond)
		_ = process.Process.Kill()
		_ = process.Wait()
		want(t, strings.Count(output.String(), "begun"), count)
	}
}

// goroutines is the number of those that run code of the package.
func goroutines() (count int) {
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, one := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(one, "packages/go.") {
			count++
		}
	}
	return count
}

func TestARunLeavesNoGoroutines(t *testing.T) {
	server := newWorkerServer(t)
	before := goroutines()
	worker := server.worker(t, pumphouse.WorkerOptions{Wait: time.Millisecond})
	worker.Handle(pumphouse.AnyType, returns(nil))
	go func() {
		time.Sleep(200 * time.Millisecond)
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGTERM)
	}()
	if err := worker.RunUntilSignal(ctx); err != nil {
		t.Error(err)
	}
	if err := newWorker(t, server.client, new(lines)).RunUntilSignal(ctx); err == nil {
		t.Error("it has no queues")
	}
	for end := time.Now().Add(2 * time.Second); goroutines() > before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are %d more", goroutines()-before)
		}
	}
}
