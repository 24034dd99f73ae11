package pumphouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
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
	// defaultTries are more than fit into the default time.
	defaultTries = 20
	// A key of the client's own counts for ownKeyMargin beyond the end of its call; leastOwnKeyTTL to maxKeyTTL in all.
	ownKeyMargin   = time.Minute
	leastOwnKeyTTL = 2 * time.Minute
	maxKeyTTL      = 30 * 24 * time.Hour
	// maxJobs is the number of jobs of one call of the API.
	maxJobs = 64
	// maxKey is the length of the longest idempotency key.
	maxKey = 255
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
	// Transport is cloned, for TLS settings and proxies; nil = http.DefaultTransport, or one with proxies of the environment where the
	// program has replaced that by what is no *http.Transport.
	Transport *http.Transport
}

// Client is a client of one namespace. Goroutines may share it.
//
// Calls are tried again after 503, 429, time-outs and broken connections, where that is safe, until the time of Limits would be over:
// they outlast a restart of the server. A publish is safe: it carries an idempotency key.
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
		limits.Tries = defaultTries
	}
	if limits.Within == 0 {
		limits.Within = 10 * time.Second
	}
	if limits.Attempt == 0 {
		limits.Attempt = 5 * time.Second
	}
	transport := config.Transport
	if transport == nil {
		transport = usualTransport()
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

// usualTransport is that of net/http. Programs replace it by a RoundTripper of their own, as for traces, which cannot be cloned.
func usualTransport() *http.Transport {
	if known, ok := http.DefaultTransport.(*http.Transport); ok {
		return known
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
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

type publishOptions struct {
	key, durability string
	ttl             time.Duration
}

// WithIdempotencyKey names what is to happen once; the name counts for a day. Without it the call's own retries store nothing
// twice, but a second call does.
func WithIdempotencyKey(key string) PublishOption {
	return func(o *publishOptions) { o.key = key }
}

// WithIdempotencyTTL says how long the name of WithIdempotencyKey counts, a second to 30 days, in place of a day.
func WithIdempotencyTTL(ttl time.Duration) PublishOption {
	return func(o *publishOptions) { o.ttl = ttl }
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
	// Before the first call: else some calls would be stored, and the rest never.
	texts, err := textsOf(jobs)
	if err != nil {
		return nil, err
	}
	if key := optionsOf(options).key; key != "" && len(jobs) > maxJobs {
		last := (len(jobs) - 1) / maxJobs * maxJobs
		if excess := len(key) + 1 + len(strconv.Itoa(last)) - maxKey; excess > 0 {
			return nil, fmt.Errorf("pumphouse: the idempotency key must be shorter by %d characters for so many jobs", excess)
		}
	}
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
		if err := c.publish(ctx, members{"jobs": texts[at:end]}, 0, own, &answer); err != nil {
			return published, err
		}
		published = append(published, answer.Jobs...)
	}
	return published, nil
}

// textsOf has the JSON of each job. Its error names the job by its place in the list.
func textsOf(jobs []NewJob) ([]json.RawMessage, error) {
	texts := make([]json.RawMessage, len(jobs))
	for i, job := range jobs {
		text, err := encode(job)
		if err != nil {
			if fault := jsonFault(members{"jobs": jobs}, ""); fault != nil {
				err = fault
			}
			return nil, err
		}
		texts[i] = text
	}
	return texts, nil
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
	if options.key == "" {
		if options.ttl != 0 {
			return errors.New("pumphouse: WithIdempotencyTTL: says how long the key of WithIdempotencyKey is kept: give both or neither")
		}
		options.ttl = ownKeyTTL(c.limits, wait)
	}
	header := map[string]string{"Idempotency-Key": options.key}
	if options.key == "" {
		header["Idempotency-Key"] = randomHex(16)
	}
	if options.ttl != 0 {
		header["Idempotency-TTL-Ms"] = strconv.FormatInt(roundedUp(options.ttl), 10)
	}
	if options.durability != "" {
		header["X-Durability"] = options.durability
	}
	query := url.Values{}
	// The server takes no wait of 0.
	if wait >= time.Millisecond {
		query.Set("wait_ms", strconv.FormatInt(wait.Milliseconds(), 10))
	}
	publish := call{method: "POST", path: "jobs", query: query, body: text, header: header, wait: wait, isRepeatable: true, isTyped: true}
	publish.onAnswer = func(header http.Header) {
		// A key of the client's own is known from an earlier attempt only: then this call has stored the job.
		if options.key != "" && header.Get("Idempotency-Replayed") == "true" {
			markReplayed(into)
		}
	}
	return c.send(ctx, publish, into)
}

// ownKeyTTL is how long a key counts that the client makes for one call: longer than the call may last.
func ownKeyTTL(limits Limits, wait time.Duration) time.Duration {
	// The sum of times that are not capped may overflow.
	ttl := least(wait, maxEndWait) + capped(limits.Within) + capped(limits.Attempt) + ownKeyMargin
	if ttl < leastOwnKeyTTL {
		return leastOwnKeyTTL
	}
	return least(ttl, maxKeyTTL)
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

// Call is any other call of the v1 API: c.Call(ctx, "POST", "queues/mail/pause", nil, nil). The path is below /v1/NAMESPACE/, its
// parts encoded. A body that is not nil is sent as JSON, and the answer is read into a value that is not nil. All but POST and a
// PUT of a job are tried again after lost answers.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	// A job that is put may be taken by a worker before it is put again.
	isPut := method == "PUT" && strings.HasPrefix(path, "jobs/")
	call := call{method: method, path: path, isRepeatable: method != "POST" && !isPut}
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
