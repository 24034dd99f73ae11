package pumphouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

// The tests use a server: PUMPHOUSE_URL, _ADMIN_URL, _NAMESPACE and _TOKEN name it. test/clients/go.spec.ts starts one.

var ctx = context.Background()

func newClient(t *testing.T, config pumphouse.Config) *pumphouse.Client {
	t.Helper()
	client, err := pumphouse.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func queueName(t *testing.T) string { return fmt.Sprintf("q-%d", time.Now().UnixNano()) }

// answering is a port that sends texts, one for each request, and then closes the connection. It returns its URL.
func answering(t *testing.T, texts ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err = conn.Read(make([]byte, 65536)); err == nil && len(texts) > 0 {
				_, _ = conn.Write([]byte(texts[0]))
				texts = texts[1:]
			}
			conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// deadAddress is one on which nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func httpAnswer(status int, body string, headers ...string) string {
	headers = append(headers, fmt.Sprintf("Content-Length: %d", len(body)))
	return fmt.Sprintf("HTTP/1.1 %d Reason\r\n%s\r\n\r\n%s", status, strings.Join(headers, "\r\n"), body)
}

func TestErrorsAreOneLineWithWhatHappenedWhereAndWhatToDo(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	url, namespace := os.Getenv("PUMPHOUSE_URL"), os.Getenv("PUMPHOUSE_NAMESPACE")
	place := "/v1/" + namespace + "/jobs"
	down, mute := "http://"+deadAddress(t), "http://"+silent.Addr().String()
	page := "<html><title>404 not\n here</title>" + strings.Repeat("long ", 1000)
	foreign := `.* is no answer of Pumphouse's API: `
	for _, one := range []struct {
		name   string
		config pumphouse.Config
		code   string
		text   string
	}{
		{"a server that is down", pumphouse.Config{URL: down}, "network", "no connection to " + down + ": connection refused. Start .*"},
		{"an unknown host", pumphouse.Config{URL: "http://no.such.host.invalid"}, "network", "no connection to http://no.such.host.invalid: unknown host. Correct the URL"},
		{"a password in the URL", pumphouse.Config{URL: strings.Replace(down, "//", "//name:secret@", 1)}, "network", "no connection to " + down + ": .*"},
		{"no answer in time", pumphouse.Config{URL: mute}, "timeout", "no answer to POST " + mute + place + " within 1s. The server may be overloaded: .*"},
		{"https without TLS", pumphouse.Config{URL: strings.Replace(url, "http:", "https:", 1)}, "network", "no TLS connection to https://.* the URL begins with http://"},
		{"http with TLS", pumphouse.Config{URL: answering(t, "\x15\x03\x01\x00\x02\x02\x46")}, "network", "no answer to POST .*: what came is not HTTP. .* https://"},
		{"a closed connection", pumphouse.Config{URL: answering(t)}, "network", "no answer to POST .*: the connection was closed. .* https://"},
		{"the admin port", pumphouse.Config{URL: os.Getenv("PUMPHOUSE_ADMIN_URL")}, "http_404", "404 from POST " + foreign + `".*"\. .*and 7778 the admin port`},
		{"a page of a proxy", pumphouse.Config{URL: answering(t, httpAnswer(404, page))}, "http_404", "404 from POST " + foreign + `"404 not here"\. Check .*`},
		{"a proxy without a server", pumphouse.Config{URL: answering(t, httpAnswer(502, "<h1>Bad\n gateway</h1>"))}, "http_502", `502 from POST .*: "Bad gateway"\. The proxy .* later`},
		{"a page in place of an answer", pumphouse.Config{URL: answering(t, httpAnswer(200, page))}, "invalid_response", "200 from POST " + foreign + `"404 not here"\. Check .*`},
		{"a redirect", pumphouse.Config{URL: answering(t, httpAnswer(301, "", "Location: https://queue.example.com/"))}, "http_301", "301 from POST .* leads to https://queue.example.com/. The client follows no redirect: .*"},
		{"a wrong token", pumphouse.Config{Token: "wrong"}, "token_invalid", `.+ \(401 from POST .*` + place + `\). .*pumphouse token create ` + namespace + ` -d 'what it is for'`},
		{"a wrong path", pumphouse.Config{URL: url + "/v1"}, "not_found", `.+ \(404 from POST .*/v1/v1/.*\). The URL of the client ends before /v1`},
		{"refused fields", pumphouse.Config{}, "invalid_argument", `(Queue [^;]+; Tries must [^;]+|Tries must [^;]+; Queue [^;]+) \(400 from POST .*` + place + `\)`},
	} {
		t.Run(one.name, func(t *testing.T) {
			one.config.Limits = pumphouse.Limits{Tries: 1, Attempt: time.Second}
			_, err := newClient(t, one.config).Publish(ctx, pumphouse.NewJob{Queue: "no name", Tries: -1})
			if code := pumphouse.Code(err); code != one.code {
				t.Errorf("the code is %q: %v", code, err)
			}
			if !regexp.MustCompile("^pumphouse: " + one.code + ": " + one.text + "$").MatchString(fmt.Sprint(err)) {
				t.Errorf("the text is %v", err)
			}
		})
	}
}

func TestALongBodyIsNamedAsTheLikelyReason(t *testing.T) {
	job := pumphouse.NewJob{Queue: queueName(t), Data: strings.Repeat("x", 20_000_000)}
	once := pumphouse.Limits{Tries: 1}
	_, err := newClient(t, pumphouse.Config{Limits: once}).Publish(ctx, job)
	// net/http may see that the connection is closed before it reads the answer.
	if !strings.Contains(fmt.Sprint(err), "body_too_large: the body is longer") && !strings.Contains(fmt.Sprint(err), "bytes may be longer than") {
		t.Errorf("the error is %v", err)
	}
	_, err = newClient(t, pumphouse.Config{URL: answering(t), Limits: once}).Publish(ctx, job)
	wantCode(t, err, "network")
	if !regexp.MustCompile(`the connection was closed\. The body of 20\d+ bytes may be longer than`).MatchString(fmt.Sprint(err)) {
		t.Errorf("the error is %v", err)
	}
}

func TestACallSucceedsWhenTheServerIsBackWithinTheTime(t *testing.T) {
	address := deadAddress(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(http.StatusCreated)
		_, _ = answer.Write([]byte(`{"id":"1","state":"ready"}`))
	}))
	started := make(chan error)
	go func() {
		time.Sleep(4 * time.Second)
		listener, err := net.Listen("tcp", address)
		if err == nil {
			server.Listener = listener
			server.Start()
		}
		started <- err
	}()
	published, err := newClient(t, pumphouse.Config{URL: "http://" + address}).Publish(ctx, pumphouse.NewJob{Queue: "q"})
	if failed := <-started; failed != nil {
		t.Fatal(failed)
	}
	defer server.Close()
	if err != nil || published.ID != "1" {
		t.Errorf("it is %+v, %v", published, err)
	}
}

func TestACallToADeadPortFailsWhenItsTimeIsOver(t *testing.T) {
	client := newClient(t, pumphouse.Config{URL: "http://" + deadAddress(t), Limits: pumphouse.Limits{Within: 3 * time.Second}})
	for _, call := range []func() error{
		func() error { _, err := client.Publish(ctx, pumphouse.NewJob{Queue: "q"}); return err },
		// A server that cannot be reached does not wait for the end of the job.
		func() error {
			_, err := client.PublishAndWait(ctx, pumphouse.NewJob{Queue: "q"}, time.Minute)
			return err
		},
	} {
		began := time.Now()
		err := call()
		took := time.Since(began)
		var failed *pumphouse.Error
		// The next pause, of 1.6 s at most, would not have ended in time.
		if !errors.As(err, &failed) || failed.Attempts < 5 || took < 1300*time.Millisecond || took > 3500*time.Millisecond {
			t.Errorf("the error after %v is %+v", took, failed)
		}
	}
	client = newClient(t, pumphouse.Config{URL: "http://" + deadAddress(t), Limits: pumphouse.Limits{Tries: 2}})
	var failed *pumphouse.Error
	if _, err := client.Publish(ctx, pumphouse.NewJob{Queue: "q"}); !errors.As(err, &failed) || failed.Attempts != 2 {
		t.Errorf("the error is %+v", failed)
	}
}

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New("no text") }

func TestAValueWithoutJSONIsNamedByItsPlace(t *testing.T) {
	client := newClient(t, pumphouse.Config{})
	loop := map[string]any{}
	loop["loop"] = loop
	publish := func(data any) error {
		_, err := client.Publish(ctx, pumphouse.NewJob{Queue: "q", Data: data})
		return err
	}
	_, many := client.PublishMany(ctx, []pumphouse.NewJob{{Queue: "q"}, {Queue: "q", Data: make(chan int)}})
	_, recurring := client.PutRecurringJob(ctx, "r", pumphouse.NewRecurringJob{Job: pumphouse.NewJob{Queue: "q", Data: math.NaN()}})
	for want, err := range map[string]error{
		"Data: must not be NaN or infinite":                     publish(math.Inf(1)),
		"Data.a[1]: must not be NaN or infinite":                publish(map[string]any{"a": []float64{1, math.NaN()}}),
		"Data[0]: must be JSON, not func():":                    publish([]any{func() {}}),
		"Data: must not contain itself":                         publish(loop),
		"Data.x: must be JSON: error calling MarshalJSON":       publish(map[string]any{"x": unwritable{}}),
		"jobs[1].Data: must be JSON, not chan int: give a str":  many,
		"Job.Data: must not be NaN or infinite":                 recurring,
		"body: must be JSON, not chan int":                      client.Call(ctx, "POST", "jobs", make(chan int), nil),
		"max_running: must not be NaN or infinite, which JSON ": client.Call(ctx, "PATCH", "queues/q", map[string]any{"max_running": math.NaN()}, nil),
	} {
		if !strings.HasPrefix(fmt.Sprint(err), "pumphouse: "+want) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestARefusedFieldIsNamedAsInGo(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	long := 200 * 365 * 24 * time.Hour
	job := func(change func(*pumphouse.NewJob)) error {
		job := pumphouse.NewJob{Queue: queue}
		change(&job)
		_, err := client.Publish(ctx, job)
		return err
	}
	publish := func(options ...pumphouse.PublishOption) error {
		_, err := client.Publish(ctx, pumphouse.NewJob{Queue: queue}, options...)
		return err
	}
	_, many := client.PublishMany(ctx, []pumphouse.NewJob{{Queue: queue}, {Queue: queue, MaxRun: long}})
	_, recurring := client.PutRecurringJob(ctx, "r", pumphouse.NewRecurringJob{
		Schedule: pumphouse.Schedule{Every: time.Minute, TimeZone: "UTC"}, Job: pumphouse.NewJob{Queue: queue},
	})
	_, settings := client.UpdateQueue(ctx, queue, pumphouse.QueueSettings{"max_running": 0})
	for _, one := range []struct {
		field, name string
		err         error
	}{
		{"delay_ms", "Delay must be", job(func(j *pumphouse.NewJob) { j.Delay = long })},
		{"run_at", "RunAt must not be set together with Delay", job(func(j *pumphouse.NewJob) { j.Delay, j.RunAt = time.Hour, time.Now() })},
		{"ttl_ms", "TTL must be 0, or at least Delay", job(func(j *pumphouse.NewJob) { j.Delay, j.TTL = time.Hour, time.Minute })},
		{"retry.max_ms", "Retry.MaxDelay must be", job(func(j *pumphouse.NewJob) {
			j.Retry = &pumphouse.RetryPolicy{Kind: "linear", Delay: time.Second, MaxDelay: long}
		})},
		{"depends_on", "DependsOn must be", job(func(j *pumphouse.NewJob) { j.DependsOn = []string{"not an id"} })},
		{"push.url", "PushURL must be", job(func(j *pumphouse.NewJob) { j.PushURL = "nope" })},
		{"Idempotency-TTL-Ms", "WithIdempotencyTTL must be", publish(pumphouse.WithIdempotencyKey("k"), pumphouse.WithIdempotencyTTL(time.Millisecond))},
		{"X-Durability", "WithDurability must be", publish(pumphouse.WithDurability("none"))},
		{"jobs[1].max_run_ms", "jobs[1].MaxRun must be", many},
		{"schedule.tz", "Schedule.TimeZone ", recurring},
		// Settings of queues go by their names in the API.
		{"max_running", "max_running must be", settings},
	} {
		var refused *pumphouse.Error
		if !errors.As(one.err, &refused) || len(refused.Fields()) != 1 || refused.Fields()[0].Field != one.field {
			t.Errorf("%s: the error is %v", one.field, one.err)
		} else if !strings.HasPrefix(refused.Message, one.name) {
			t.Errorf("%s: the message is %s", one.field, refused.Message)
		}
	}
	if err := publish(pumphouse.WithIdempotencyTTL(time.Hour)); err == nil || !strings.Contains(err.Error(), "give both or neither") {
		t.Errorf("the error is %v", err)
	}
}

func TestNewNamesTheFieldAndTheVariableThatAreMissing(t *testing.T) {
	for field, variable := range map[string]string{
		"URL": "PUMPHOUSE_URL", "Namespace": "PUMPHOUSE_NAMESPACE", "Token": "PUMPHOUSE_TOKEN",
	} {
		value := os.Getenv(variable)
		os.Unsetenv(variable)
		_, err := pumphouse.New(pumphouse.Config{})
		os.Setenv(variable, value)
		if text := fmt.Sprint(err); !strings.Contains(text, field+" is missing") || !strings.HasSuffix(text, variable) {
			t.Errorf("the text is %s", text)
		}
	}
	if _, err := pumphouse.New(pumphouse.Config{Token: "secret\n"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestDurationsAreRoundedUpToMilliseconds(t *testing.T) {
	retry := &pumphouse.RetryPolicy{Kind: "list", Delays: []time.Duration{1, time.Millisecond + 1}}
	text, err := json.Marshal(pumphouse.NewJob{Queue: "q", Delay: time.Microsecond, TTR: 2 * time.Millisecond, Retry: retry})
	if want := `{"delay_ms":1,"queue":"q","retry":{"delays_ms":[1,2],"kind":"list"},"ttr_ms":2}`; string(text) != want || err != nil {
		t.Errorf("the job is %s, %v", text, err)
	}
}

func TestAPublishNamesMissingDependenciesOrRefusesThem(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	job := pumphouse.NewJob{Queue: queue, DependsOn: []string{"typo"}}
	one, err := client.Publish(ctx, job)
	if err != nil || len(one.MissingDependencies) != 1 || one.MissingDependencies[0] != "typo" {
		t.Errorf("it is %+v, %v", one, err)
	}
	job.OnMissingDependency = "refuse"
	if _, err := client.Publish(ctx, job); pumphouse.Code(err) != "missing_dependency" {
		t.Errorf("the error is %v", err)
	}
}

func TestAPublishSaysWhetherItWasReplayed(t *testing.T) {
	client, queue := newClient(t, pumphouse.Config{}), queueName(t)
	job := pumphouse.NewJob{Queue: queue}
	for _, isReplayed := range []bool{false, true} {
		one, err := client.Publish(ctx, job, pumphouse.WithIdempotencyKey("one-"+queue))
		if err != nil || one.Replayed != isReplayed {
			t.Errorf("it is %+v, %v", one, err)
		}
		many, err := client.PublishMany(ctx, []pumphouse.NewJob{job, job}, pumphouse.WithIdempotencyKey("many-"+queue))
		if err != nil || len(many) != 2 || many[0].Replayed != isReplayed || many[1].Replayed != isReplayed {
			t.Errorf("they are %+v, %v", many, err)
		}
		ended, err := client.PublishAndWait(ctx, job, time.Millisecond, pumphouse.WithIdempotencyKey("wait-"+queue))
		if err != nil || ended.Replayed != isReplayed {
			t.Errorf("it is %+v, %v", ended, err)
		}
	}
}

func TestAKeyOfTheClientCountsLongerThanTheCall(t *testing.T) {
	var ttl string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ttl = r.Header.Get("Idempotency-TTL-Ms")
		fmt.Fprint(w, `{"id":"a","state":"ready"}`)
	}))
	defer server.Close()
	for _, one := range []struct {
		within, wait time.Duration
		ttl          string
	}{
		{0, 0, "120000"},
		{0, 2 * time.Minute, "195000"},
		{0, 48 * time.Hour, "86475000"},
		{10 * time.Minute, 0, "665000"},
		{math.MaxInt64, 24 * time.Hour, "2233948647"},
	} {
		client := newClient(t, pumphouse.Config{URL: server.URL, Limits: pumphouse.Limits{Within: one.within}})
		if _, err := client.PublishAndWait(ctx, pumphouse.NewJob{Queue: "q"}, one.wait); err != nil {
			t.Fatal(err)
		}
		want(t, ttl, one.ttl)
	}
}

func TestAWaitIsAsLongAgainAfterAConnectionThatBreaksLate(t *testing.T) {
	wait := 800 * time.Millisecond
	attempts := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempts <- r.URL.RawQuery
		time.Sleep(wait)
		if len(attempts) == 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{"id":"a","state":"ready"}`)
	}))
	defer server.Close()
	limits := pumphouse.Limits{Within: 700 * time.Millisecond, Attempt: 600 * time.Millisecond}
	client := newClient(t, pumphouse.Config{URL: server.URL, Limits: limits})
	ended, err := client.PublishAndWait(ctx, pumphouse.NewJob{Queue: "q"}, wait)
	if err != nil || ended.ID != "a" {
		t.Fatalf("it is %+v, %v", ended, err)
	}
	want(t, []any{len(attempts), <-attempts, <-attempts}, []any{2, "wait_ms=800", "wait_ms=800"})
}

func TestAMistakeInAnyJobOfALongListStoresNone(t *testing.T) {
	calls := int32(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		atomic.AddInt32(&calls, 1)
		fmt.Fprint(w, `{"jobs":[]}`)
	}))
	defer server.Close()
	jobs := make([]pumphouse.NewJob, 101)
	for i := range jobs {
		jobs[i] = pumphouse.NewJob{Queue: "q", Data: i}
	}
	jobs[100].Data = []float64{math.NaN()}
	_, err := newClient(t, pumphouse.Config{URL: server.URL}).PublishMany(ctx, jobs)
	if !strings.HasPrefix(fmt.Sprint(err), "pumphouse: jobs[100].Data[0]: must not be NaN") || calls != 0 {
		t.Errorf("the error is %v, after %d calls", err, calls)
	}
}

func TestANilTransportIsOneOfItsOwnWhereTheProgramHasReplacedThatOfNetHTTP(t *testing.T) {
	former := http.DefaultTransport
	http.DefaultTransport = struct{ http.RoundTripper }{former}
	defer func() { http.DefaultTransport = former }()
	_, err := newClient(t, pumphouse.Config{URL: answering(t, httpAnswer(404, `{"code":"none"}`))}).Queue(ctx, "q")
	wantCode(t, err, "none")
}

// silenced passes connections on to a server. From mute on it swallows what comes on those that it has, and passes new ones on.
func silenced(t *testing.T, server string) (address string, mute func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var isMute []*int32
	var mu sync.Mutex
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				return
			}
			flag := new(int32)
			mu.Lock()
			isMute = append(isMute, flag)
			mu.Unlock()
			go func() { _, _ = io.Copy(client, behind) }()
			go func() {
				defer client.Close()
				defer behind.Close()
				for buffer := make([]byte, 65536); ; {
					n, err := client.Read(buffer)
					if err != nil {
						return
					}
					if atomic.LoadInt32(flag) == 0 {
						_, _ = behind.Write(buffer[:n])
					}
				}
			}()
		}
	}()
	return listener.Addr().String(), func() {
		mu.Lock()
		defer mu.Unlock()
		for _, flag := range isMute {
			atomic.StoreInt32(flag, 1)
		}
	}
}

func TestOneTimeoutIsEnoughToLeaveTheConnectionsOfAHostThatHasGoneSilent(t *testing.T) {
	arrived, all := make(chan bool, 5), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/together") {
			arrived <- true
			<-all
		}
		fmt.Fprint(w, `{}`)
	}))
	defer server.Close()
	address, mute := silenced(t, server.Listener.Addr().String())
	limits := pumphouse.Limits{Tries: 2, Attempt: time.Second}
	client := newClient(t, pumphouse.Config{URL: "http://" + address, Limits: limits})
	defer client.Close()
	done := make(chan error, 5)
	for i := 0; i < 5; i++ {
		go func() { done <- client.Call(ctx, "GET", "together", nil, nil) }()
	}
	for i := 0; i < 5; i++ {
		<-arrived
	}
	close(all)
	for i := 0; i < 5; i++ {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	mute()
	if err := client.Call(ctx, "GET", "again", nil, nil); err != nil {
		t.Error(err)
	}
}
