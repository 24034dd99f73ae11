package pumphouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// ownKeyTTL is longer than all retries of one call.
	ownKeyTTL = 2 * time.Minute
	// maxJobs is the number of jobs of one call of the API.
	maxJobs = 64
)

// Config says where a client's server is.
type Config struct {
	// URL is https://queue.example.com, with a path if it is behind a proxy that adds one; "" = the variable PUMPHOUSE_URL of the
	// environment.
	URL string
	// Namespace; "" = the variable PUMPHOUSE_NAMESPACE.
	Namespace string
	// Token; "" = the variable PUMPHOUSE_TOKEN.
	Token string
	// Limits of each call and its retries; a zero field is the default.
	Limits Limits
	// Transport is cloned, for TLS settings and proxies; nil = that of net/http.
	Transport *http.Transport
}

// Client is a client of one namespace. Goroutines may share it.
//
// Calls are tried again after 503, 429, time-outs and broken connections, with full jitter, where that is safe. A publish is: it
// carries an idempotency key.
type Client struct {
	base string
	// shown is base without a name and a password.
	shown     string
	namespace string
	token     string
	limits    Limits
	http      *http.Client
	transport *http.Transport
}

// New makes a client.
func New(config Config) (*Client, error) {
	for _, one := range []struct {
		field, variable string
		value           *string
	}{
		{"URL", "PUMPHOUSE_URL", &config.URL},
		{"Namespace", "PUMPHOUSE_NAMESPACE", &config.Namespace},
		{"Token", "PUMPHOUSE_TOKEN", &config.Token},
	} {
		defaultTo(one.value, os.Getenv(one.variable))
		if *one.value == "" {
			return nil, fmt.Errorf("pumphouse: %s is missing: give the field %[1]s of Config, or set the variable %s", one.field, one.variable)
		}
	}
	address, err := url.Parse(config.URL)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, fmt.Errorf("pumphouse: URL: must be as http://127.0.0.1:7777 or https://queue.example.com, not %q", config.URL)
	}
	address.RawQuery, address.Fragment = "", ""
	if !visible.MatchString(config.Token) {
		return nil, errors.New("pumphouse: Token: must have no spaces and line breaks, also not at its end")
	}
	limits := config.Limits
	if limits.Tries == 0 {
		limits.Tries = 5
	}
	if limits.Within == 0 {
		limits.Within = 10 * time.Second
	}
	if limits.Attempt == 0 {
		limits.Attempt = 5 * time.Second
	}
	transport := config.Transport
	if transport == nil {
		transport, _ = http.DefaultTransport.(*http.Transport)
	}
	below := "/v1/" + url.PathEscape(config.Namespace) + "/"
	bare := *address
	bare.User = nil
	c := &Client{
		base:      strings.TrimSuffix(address.String(), "/") + below,
		shown:     strings.TrimSuffix(bare.String(), "/") + below,
		namespace: config.Namespace,
		token:     config.Token,
		limits:    limits,
		transport: transport,
	}
	c.http = c.newHTTP()
	return c, nil
}

// visible is a header that can be sent.
var visible = regexp.MustCompile(`^[!-~]+$`)

// newHTTP makes a client with connections of its own.
func (c *Client) newHTTP() *http.Client {
	transport := c.transport.Clone()
	transport.MaxIdleConnsPerHost = 64
	// A redirect would carry the token to another server.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// PublishOption is an option of a publish.
type PublishOption func(*publishOptions)

type publishOptions struct{ key, durability string }

// WithIdempotencyKey names what is to happen once; the name counts for a day. Without it the call's own retries store nothing
// twice, but a second call does.
func WithIdempotencyKey(key string) PublishOption {
	return func(o *publishOptions) { o.key = key }
}

// WithDurability says how safe the jobs must be before the call returns: memory, aof or replicated:N.
func WithDurability(durability string) PublishOption {
	return func(o *publishOptions) { o.durability = durability }
}

// Publish publishes a job.
func (c *Client) Publish(ctx context.Context, job NewJob, options ...PublishOption) (*PublishedJob, error) {
	published := new(PublishedJob)
	if err := c.publish(ctx, job, 0, optionsOf(options), published); err != nil {
		return nil, err
	}
	return published, nil
}

// PublishMany publishes jobs, in order. Up to 64 are stored all or none; more go in several calls, one after the other. With a key
// of yours the whole call can be repeated: what was stored stays as it is. With an error it returns those that were stored.
func (c *Client) PublishMany(ctx context.Context, jobs []NewJob, options ...PublishOption) ([]PublishedJob, error) {
	published := make([]PublishedJob, 0, len(jobs))
	for at := 0; at < len(jobs); at += maxJobs {
		end := at + maxJobs
		if end > len(jobs) {
			end = len(jobs)
		}
		own := optionsOf(options)
		if own.key != "" && at > 0 {
			own.key += "." + strconv.Itoa(at)
		}
		var answer publishedJobs
		if err := c.publish(ctx, members{"jobs": jobs[at:end]}, 0, own, &answer); err != nil {
			return published, err
		}
		published = append(published, answer.Jobs...)
	}
	return published, nil
}

// maxEndWait is the longest wait for the end of a job that the server takes.
const maxEndWait = 24 * time.Hour

// PublishAndWait publishes a job and waits for its end, or for the given time, a day at most. The token needs the permission consume, too.
func (c *Client) PublishAndWait(ctx context.Context, job NewJob, wait time.Duration, options ...PublishOption) (*EndedJob, error) {
	if wait > maxEndWait {
		wait = maxEndWait
	}
	ended := new(EndedJob)
	if err := c.publish(ctx, job, wait, optionsOf(options), ended); err != nil {
		return nil, err
	}
	return ended, nil
}

func (c *Client) publish(ctx context.Context, body any, wait time.Duration, options publishOptions, into any) error {
	text, err := encode(body)
	if err != nil {
		return err
	}
	header := map[string]string{"Idempotency-Key": options.key}
	if options.key == "" {
		header["Idempotency-Key"] = randomHex(16)
		header["Idempotency-TTL-Ms"] = strconv.FormatInt(ownKeyTTL.Milliseconds(), 10)
	}
	if options.durability != "" {
		header["X-Durability"] = options.durability
	}
	query := url.Values{}
	// The server takes no wait of 0.
	if wait >= time.Millisecond {
		query.Set("wait_ms", strconv.FormatInt(wait.Milliseconds(), 10))
	}
	publish := call{method: "POST", path: "jobs", query: query, body: text, header: header, wait: wait, isRepeatable: true}
	publish.onAnswer = func(header http.Header) {
		// A key of the client's own is known from an earlier attempt only: then this call has stored the job.
		if options.key != "" && header.Get("Idempotency-Replayed") == "true" {
			markReplayed(into)
		}
	}
	return c.send(ctx, publish, into)
}

// publishedJobs is the answer to a publish of several jobs.
type publishedJobs struct{ Jobs []PublishedJob }

func markReplayed(into any) {
	switch answer := into.(type) {
	case *PublishedJob:
		answer.Replayed = true
	case *EndedJob:
		answer.Replayed = true
	case *publishedJobs:
		for i := range answer.Jobs {
			answer.Jobs[i].Replayed = true
		}
	}
}

func optionsOf(options []PublishOption) (o publishOptions) {
	for _, set := range options {
		set(&o)
	}
	return o
}

// Job returns all that is known of a job. The code of its error is job_not_found if there is none.
func (c *Client) Job(ctx context.Context, id string) (*JobDetails, error) {
	job := new(JobDetails)
	if err := c.Call(ctx, "GET", "jobs/"+url.PathEscape(id), nil, job); err != nil {
		return nil, err
	}
	return job, nil
}

// JobFilter says which jobs a list has; zero fields do not count.
type JobFilter struct {
	Queue, Tag, Type, Group, Worker string
	State                           []string
	// Order is oldest or newest.
	Order string
	// IDs stand alone, or with WithData.
	IDs []string
	// WithData: the jobs have their data.
	WithData bool
	// Limit is the number of items of a page, 1 … 1,000; 100.
	Limit  int
	Cursor string
}

// Jobs returns a page of jobs.
func (c *Client) Jobs(ctx context.Context, filter JobFilter) (*JobPage, error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("queue", filter.Queue)
	set("tag", filter.Tag)
	set("type", filter.Type)
	set("group", filter.Group)
	set("worker", filter.Worker)
	set("state", strings.Join(filter.State, ","))
	set("order", filter.Order)
	set("ids", strings.Join(filter.IDs, ","))
	set("cursor", filter.Cursor)
	if filter.WithData {
		set("fields", "data")
	}
	if filter.Limit != 0 {
		set("limit", strconv.Itoa(filter.Limit))
	}
	page := new(JobPage)
	if err := c.send(ctx, call{method: "GET", path: "jobs", query: query, isRepeatable: true}, page); err != nil {
		return nil, err
	}
	return page, nil
}

// EachJob calls visit with the jobs of all pages, until it returns an error.
func (c *Client) EachJob(ctx context.Context, filter JobFilter, visit func(*JobDetails) error) error {
	for {
		page, err := c.Jobs(ctx, filter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			return nil
		}
	}
}

// CancelOptions are those of CancelJob.
type CancelOptions struct {
	// Cascade: all that depend on the job are cancelled, too.
	Cascade bool
	// Grace is how long the worker of a leased job may go on; nil = the setting of the namespace.
	Grace *time.Duration
}

// CancelJob ends a job before it is done. The worker of a leased one learns it from its next heartbeat. Codes of its errors are
// job_not_found, has_dependents and job_done.
func (c *Client) CancelJob(ctx context.Context, id string, options CancelOptions) (*CancelledJob, error) {
	m := members{"cascade": options.Cascade}
	if options.Grace != nil {
		m["grace_ms"] = roundedUp(*options.Grace)
	}
	body, err := encode(m)
	if err != nil {
		return nil, err
	}
	cancelled := new(CancelledJob)
	path := "jobs/" + url.PathEscape(id) + "/cancel"
	if err := c.send(ctx, call{method: "POST", path: path, body: body, isRepeatable: true}, cancelled); err != nil {
		return nil, err
	}
	return cancelled, nil
}

// DeleteOption is an option of DeleteJob.
type DeleteOption func(*deleteOptions)

type deleteOptions struct{ force bool }

// WithForce deletes a leased job, too. Its worker learns it from its next heartbeat.
func WithForce() DeleteOption {
	return func(o *deleteOptions) { o.force = true }
}

// DeleteJob deletes a job in any state but leased; WithForce a leased one, too.
func (c *Client) DeleteJob(ctx context.Context, id string, options ...DeleteOption) error {
	var chosen deleteOptions
	for _, option := range options {
		option(&chosen)
	}
	path := "jobs/" + url.PathEscape(id)
	if chosen.force {
		path += "?force=true"
	}
	err := c.Call(ctx, "DELETE", path, nil, nil)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Attempts > 1 {
		return nil // An earlier attempt, whose answer was lost, has done it.
	}
	return err
}

// Call is any other call of the v1 API: c.Call(ctx, "POST", "queues/mail/pause", nil, nil). The path is below /v1/NAMESPACE/, its
// parts encoded. A body that is not nil is sent as JSON, and the answer is read into a value that is not nil. All but POST are
// tried again after lost answers.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	call := call{method: method, path: path, isRepeatable: method != "POST"}
	if body != nil {
		text, err := encode(body)
		if err != nil {
			return err
		}
		call.body = text
	}
	return c.send(ctx, call, into)
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func randomHex(length int) string {
	random := make([]byte, length)
	if _, err := rand.Read(random); err != nil {
		panic(err) // The system has no random numbers.
	}
	return hex.EncodeToString(random)
}
