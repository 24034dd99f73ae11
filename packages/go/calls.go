package pumphouse

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// PageOptions say which page of a list a call returns.
type PageOptions struct {
	// Limit is the number of items of a page, 1 … 1,000; 0 = 100.
	Limit int
	// Cursor is the NextCursor of the page before.
	Cursor string
}

// fetch sends a call with a body, unless that is nil, and returns what it answers.
func fetch[Answer any](ctx context.Context, c *Client, call call, body any) (*Answer, error) {
	if body != nil {
		text, err := encode(body)
		if err != nil {
			return nil, err
		}
		call.body = text
		switch body.(type) {
		case QueueSettings, RecurringChange: // Their fields go by the names of the API.
		default:
			call.isTyped = true
		}
	}
	answer := new(Answer)
	if err := c.send(ctx, call, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// each visits the items of all pages, until visit returns an error.
func each[Item any](cursor string, page func(cursor string) (*Page[Item], error), visit func(*Item) error) error {
	for {
		found, err := page(cursor)
		if err != nil {
			return err
		}
		for i := range found.Items {
			if err := visit(&found.Items[i]); err != nil {
				return err
			}
		}
		if cursor = found.NextCursor; cursor == "" {
			return nil
		}
	}
}

// remove sends a DELETE, for which it is right that an earlier attempt, whose answer was lost, has done it.
func (c *Client) remove(ctx context.Context, path string, query queryValues) error {
	err := c.send(ctx, call{method: "DELETE", path: path, query: url.Values(query), isRepeatable: true}, nil)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.isOfProxy() && refused.mayBeDone {
		return nil
	}
	return err
}

// getCall is a call that reads.
func getCall(path string, query queryValues) call {
	return call{method: "GET", path: path, query: url.Values(query), isRepeatable: true}
}

// postCall is a call that is as good twice as once.
func postCall(path string) call { return call{method: "POST", path: path, isRepeatable: true} }

// pathOf joins the parts of a path, each encoded.
func pathOf(parts ...string) string {
	encoded := make([]string, len(parts))
	for i, part := range parts {
		encoded[i] = url.PathEscape(part)
	}
	return strings.Join(encoded, "/")
}

// queryValues are those of a query that are given.
type queryValues url.Values

func (q queryValues) set(name, value string) {
	if value != "" {
		url.Values(q).Set(name, value)
	}
}

func (q queryValues) moment(name string, value time.Time) {
	if !value.IsZero() {
		q.set(name, momentText(value))
	}
}

func (q queryValues) page(options PageOptions) queryValues {
	q.set("cursor", options.Cursor)
	if options.Limit != 0 {
		q.set("limit", strconv.Itoa(options.Limit))
	}
	return q
}
