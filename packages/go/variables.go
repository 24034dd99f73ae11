package pumphouse

import (
	"context"
	"encoding/json"
)

// Variables returns all variables of the namespace: free names with JSON values, which the server only keeps.
func (c *Client) Variables(ctx context.Context) (map[string]json.RawMessage, error) {
	type variable struct {
		Name  string
		Value json.RawMessage
	}
	answer, err := fetch[struct{ Items []variable }](ctx, c, getCall("variables", nil), nil)
	if err != nil {
		return nil, err
	}
	found := make(map[string]json.RawMessage, len(answer.Items))
	for _, item := range answer.Items {
		found[item.Name] = item.Value
	}
	return found, nil
}

// Variable reads the value of a variable. The code of its error is variable_not_found if there is none.
func (c *Client) Variable(ctx context.Context, name string, into any) error {
	answer, err := fetch[struct{ Value json.RawMessage }](ctx, c, getCall(pathOf("variables", name), nil), nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.Value, into)
}

// SetVariable creates or replaces a variable: any JSON, at most 4,096 bytes. The token needs the permission admin.
func (c *Client) SetVariable(ctx context.Context, name string, value any) error {
	put := call{method: "PUT", path: pathOf("variables", name), isRepeatable: true}
	_, err := fetch[json.RawMessage](ctx, c, put, members{"value": value})
	return err
}

// DeleteVariable deletes a variable. The token needs the permission admin.
func (c *Client) DeleteVariable(ctx context.Context, name string) error {
	return c.remove(ctx, pathOf("variables", name), nil)
}
