package pumphouse

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits are the bounds of one call with its retries. Time that the server was asked to wait is added to both times.
type Limits struct {
	// Tries are attempts in all; 5.
	Tries int
	// Within is the time in all; 10 s.
	Within time.Duration
	// Attempt is the time of one attempt; 5 s.
	Attempt time.Duration
}

const (
	// The first pause is drawn from 0 … firstPause, each further one from twice as much, up to maxPause.
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// maxTimer is the longest time of a wait. Sums of longer ones would overflow.
const maxTimer = (1<<31 - 1) * time.Millisecond

func capped(d time.Duration) time.Duration {
	if d > maxTimer {
		return maxTimer
	}
	return d
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
	limits       *Limits
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
	end := time.Now().Add(limits.Within + call.wait)
	for attempt := 1; ; attempt++ {
		timeout := limits.Attempt + call.wait
		if left := time.Until(end); left < timeout {
			timeout = left
		}
		refused := c.attempt(ctx, call, timeout, into)
		if refused == nil {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		refused.err.Attempts = attempt
		pause := refused.retryAfter + jitter(firstPause, maxPause, attempt-1)
		mayRepeat := refused.err.Retryable && (call.isRepeatable || refused.isNothingDone)
		if !mayRepeat || attempt >= limits.Tries || time.Now().Add(pause).After(end) {
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
	retryAfter    time.Duration
}

func (c *Client) attempt(ctx context.Context, call call, timeout time.Duration, into any) *refusal {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address := c.base + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(limited, call.method, address, bytes.NewReader(call.body))
	if err != nil {
		return &refusal{err: &Error{Code: "invalid_argument", Message: "the request cannot be made", Err: err}}
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
	if err != nil {
		return noAnswer(err, timeout)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return noAnswer(err, timeout)
	}
	if response.StatusCode >= 300 {
		return refusalOf(response, body)
	}
	if into == nil {
		return nil
	}
	if raw, isRaw := into.(*rawAnswer); isRaw {
		*raw = body
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		status := response.StatusCode
		return &refusal{err: &Error{Code: "invalid_response", Message: "the answer is not what it should be", Status: status, Err: err}}
	}
	return nil
}

func noAnswer(err error, timeout time.Duration) *refusal {
	shown := &Error{Code: "network", Message: err.Error(), Retryable: true, Err: err}
	// The URL of a request has no secrets, but is of no use here.
	var inURL *url.Error
	if errors.As(err, &inURL) {
		shown.Message = inURL.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		shown.Code, shown.Message = "timeout", fmt.Sprintf("no answer within %v", timeout)
	}
	var dial *net.OpError
	return &refusal{err: shown, isNothingDone: errors.As(err, &dial) && dial.Op == "dial"}
}

func refusalOf(response *http.Response, body []byte) *refusal {
	status := response.StatusCode
	details := map[string]json.RawMessage{}
	_ = json.Unmarshal(body, &details) // A proxy in front may answer anything.
	take := func(name string) (text string) {
		_ = json.Unmarshal(details[name], &text)
		delete(details, name)
		return text
	}
	code, title, detail := take("code"), take("title"), take("detail")
	if code == "" {
		code = "http_" + strconv.Itoa(status)
	}
	if detail == "" {
		detail = title
	}
	isPassing := status == 408 || status == 429 || status == 502 || status == 503 || status == 504
	return &refusal{
		err: &Error{
			Code:      code,
			Message:   strings.TrimSpace(strconv.Itoa(status) + " " + detail),
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
	spread := most
	if n < 10 && first<<n < most {
		spread = first << n
	}
	return time.Duration(randomBelow(int64(spread) + 1))
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
