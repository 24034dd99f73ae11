package pumphouse

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Limits are the bounds of one call with its retries. Time that the server was asked to wait is added to both times, as far as it
// waited.
type Limits struct {
	// Tries are attempts in all; 20, which are more than fit into Within: that time decides. To have more of both, give both.
	Tries int
	// Within is the time of all attempts and the pauses between them; 10 s.
	Within time.Duration
	// Attempt is the time of one attempt; 5 s.
	Attempt time.Duration
}

const (
	// The first pause is drawn from the upper half of firstPause, each further one from that of twice as much, up to maxPause.
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
	// With less time left, or less than an attempt may take, no further attempt begins: its outcome might stay unknown, and that of the refusal before is clear.
	leastAttempt = 250 * time.Millisecond
)

// maxTimer is the longest time of a wait. Sums of longer ones would overflow.
const maxTimer = (1<<31 - 1) * time.Millisecond

func capped(d time.Duration) time.Duration { return least(d, maxTimer) }

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

// nothingDone are refusals after which the server has certainly done nothing.
var nothingDone = map[string]bool{
	"overloaded": true, "shutting_down": true, "disk_full": true, "durability_unavailable": true, "pool_moving": true,
}

// call is one call of the v1 API.
type call struct {
	method string
	// path is below /v1/NAMESPACE/, its parts encoded.
	path   string
	query  url.Values
	body   []byte
	header map[string]string
	// wait is how long the server may wait before it answers.
	wait time.Duration
	// isRepeatable: to do it twice is as to do it once. Else it is tried again only if it was certainly not done.
	isRepeatable bool
	// isTyped: its fields are those of a type of this package, and errors name them so.
	isTyped bool
	limits  *Limits
	// onAnswer gets the header of the answer, after that was read; nil = nothing is to be done.
	onAnswer func(http.Header)
	// client sends it; nil = that of all calls.
	client *http.Client
}

// rawAnswer takes an answer as it is.
type rawAnswer []byte

// send calls, tries again where that is safe, and reads the answer into a value, unless that is nil.
func (c *Client) send(ctx context.Context, call call, into any) error {
	limits := c.limits
	if call.limits != nil {
		limits = *call.limits
	}
	limits.Within, limits.Attempt, call.wait = capped(limits.Within), capped(limits.Attempt), capped(call.wait)
	end, wait := time.Now().Add(limits.Within), call.wait
	mayBeDone := false
	for attempt := 1; ; attempt++ {
		began := time.Now()
		// The server waits anew in each attempt.
		most := limits.Within
		if call.wait <= 0 {
			most = end.Sub(began)
		}
		timeout := call.wait + least(limits.Attempt, most)
		refused := c.attempt(ctx, call, timeout, into)
		if refused == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		refused.err.Attempts, refused.err.mayBeDone = attempt, mayBeDone
		mayBeDone = mayBeDone || !refused.isNothingDone
		if !refused.isUnsent {
			// A server that cannot be reached has not waited.
			waited := least(wait, time.Since(began))
			wait, end = wait-waited, end.Add(waited)
		}
		pause := refused.retryAfter + upperJitter(firstPause, maxPause, attempt-1)
		mayRepeat := refused.err.Retryable && (call.isRepeatable || refused.isNothingDone)
		isOver := time.Now().Add(pause + least(leastAttempt, limits.Attempt)).After(end)
		if !mayRepeat || attempt >= limits.Tries || isOver {
			return refused.err
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
}

// refusal is an attempt that has failed.
type refusal struct {
	err *Error
	// isNothingDone: the server has certainly not done anything.
	isNothingDone bool
	// isUnsent: the server cannot have seen the request.
	isUnsent   bool
	retryAfter time.Duration
}

func (c *Client) attempt(ctx context.Context, call call, timeout time.Duration, into any) *refusal {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := c.base + call.path
	path, _, _ := strings.Cut(call.path, "?")
	sent := &sending{place: call.method + " " + c.shown + path, timeout: timeout, size: len(call.body)}
	limited = httptrace.WithClientTrace(limited, &httptrace.ClientTrace{GotConn: sent.gotConn})
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(limited, call.method, address, bytes.NewReader(call.body))
	if err != nil {
		text := "the request cannot be made: " + oneLine(rootText(err))
		return &refusal{err: &Error{Code: "invalid_argument", Message: text, Err: err}}
	}
	request.Header.Set("X-Token", c.token)
	if call.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range call.header {
		request.Header.Set(name, value)
	}
	client := call.client
	if client == nil {
		client = c.http
	}
	response, err := client.Do(request)
	var body []byte
	if err == nil {
		defer response.Body.Close()
		body, err = io.ReadAll(response.Body)
	}
	if err != nil {
		// guard: go-drops-dead-connections
		if isTimeout(err) && atomic.LoadInt32(&sent.isReused) == 1 {
			// The host may have gone away without a word, and with it the other connections.
			client.CloseIdleConnections()
		}
		return sent.noAnswer(err)
	}
	if response.StatusCode >= 300 {
		return c.refusalOf(response, sent.place, body, call.isTyped)
	}
	if into == nil {
		return nil
	}
	if raw, isRaw := into.(*rawAnswer); isRaw {
		*raw = body
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		text := foreignText(response.StatusCode, sent.place, body)
		return &refusal{err: &Error{Code: "invalid_response", Message: text, Status: response.StatusCode, Err: err}}
	}
	if call.onAnswer != nil {
		call.onAnswer(response.Header)
	}
	return nil
}

// sending is a request that is being sent.
type sending struct {
	// place is method and URL.
	place   string
	timeout time.Duration
	// size is the number of bytes of the body.
	size int
	// isConnected is 1 when it has a connection.
	isConnected int32
	// isReused is 1 if that was open before.
	isReused int32
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	if info.Reused {
		atomic.StoreInt32(&s.isReused, 1)
	}
	atomic.StoreInt32(&s.isConnected, 1)
}

func (s *sending) noAnswer(err error) *refusal {
	isConnected := atomic.LoadInt32(&s.isConnected) == 1
	failed := &Error{Code: "network", Message: s.text(err, isConnected), Retryable: true, Err: err}
	if isTimeout(err) {
		failed.Code = "timeout"
	}
	return &refusal{err: failed, isNothingDone: !isConnected, isUnsent: !isConnected}
}

func (c *Client) refusalOf(response *http.Response, place string, body []byte, isTyped bool) *refusal {
	status := response.StatusCode
	details := map[string]json.RawMessage{}
	_ = json.Unmarshal(body, &details) // A proxy in front may answer anything.
	take := func(name string) (text string) {
		_ = json.Unmarshal(details[name], &text)
		delete(details, name)
		return text
	}
	code, title, detail := take("code"), take("title"), take("detail")
	if detail == "" {
		detail = title
	}
	fields := fieldsText((&Error{Details: details}).Fields(), isTyped)
	message := refusalText(response, body, place, c.namespace, code, detail, fields)
	if code == "" {
		code = "http_" + strconv.Itoa(status)
	}
	isPassing := status == 408 || status == 429 || status == 502 || status == 503 || status == 504
	return &refusal{
		err: &Error{
			Code:      code,
			Message:   message,
			Status:    status,
			RequestID: response.Header.Get("X-Request-Id"),
			// Waiting does not help against too many queues.
			Retryable: isPassing && code != "too_many_queues",
			Details:   details,
		},
		isNothingDone: status == 429 || nothingDone[code],
		retryAfter:    retryAfter(response.Header.Get("Retry-After")),
	}
}

// retryAfter reads seconds or a date.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && time.Until(at) > 0 {
		return time.Until(at)
	}
	return 0
}

// jitter draws a pause from 0 … first·2^n, or most.
func jitter(first, most time.Duration, n int) time.Duration {
	return time.Duration(randomBelow(int64(doubled(first, most, n)) + 1))
}

// upperJitter draws a pause from the upper half of first·2^n, or of most.
func upperJitter(first, most time.Duration, n int) time.Duration {
	half := doubled(first, most, n) / 2
	return half + time.Duration(randomBelow(int64(half)+1))
}

// doubled is first·2^n, or most.
func doubled(first, most time.Duration, n int) time.Duration {
	if n < 10 && first<<n < most {
		return first << n
	}
	return most
}

// randomBelow draws from 0 … n-1. Until Go 1.20 math/rand draws the same numbers in each process.
func randomBelow(n int64) int64 {
	drawn, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic(err) // The system has no random numbers.
	}
	return drawn.Int64()
}

// sleep returns false if the context has ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
