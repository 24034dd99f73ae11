package pumphouse

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
)

// jsonError says which value has no JSON, and why.
type jsonError struct {
	// place is as fields are called in Go, and below data by the keys of the caller: Data.a[0].
	place string
	err   error
}

func (e *jsonError) Error() string {
	place := e.place
	if place == "" {
		place = "body"
	}
	return "pumphouse: " + place + ": " + jsonRule(e.err)
}

// Unwrap returns the error of encoding/json.
func (e *jsonError) Unwrap() error { return e.err }

func jsonRule(err error) string {
	var value *json.UnsupportedValueError
	var kind *json.UnsupportedTypeError
	switch {
	case isCycle(err):
		return "must not contain itself"
	case errors.As(err, &value):
		return "must not be NaN or infinite, which JSON does not have: give nil or text in its place"
	case errors.As(err, &kind):
		return fmt.Sprintf("must be JSON, not %v: give a struct, a map with text as keys, a slice, text, a number or a bool", kind.Type)
	}
	return "must be JSON: " + oneLine(strings.TrimPrefix(err.Error(), "json: "))
}

func isCycle(err error) bool { return strings.Contains(err.Error(), "encountered a cycle") }

// jsonFault finds the first value in a value that has no JSON; nil if there is none. It is for values that cannot be written.
func jsonFault(value any, place string) *jsonError {
	_, err := encodeJSON(value)
	if err == nil {
		return nil
	}
	// What contains itself has parts without end.
	if _, isOfPackage := value.(members); isOfPackage || !isCycle(err) {
		for _, part := range partsOf(value, place) {
			if fault := jsonFault(part.value, part.place); fault != nil {
				return fault
			}
		}
	}
	var inner *jsonError
	if errors.As(err, &inner) { // A type of this package writes itself.
		return &jsonError{joined(place, inner.place), inner.err}
	}
	return &jsonError{place, err}
}

type part struct {
	place string
	value any
}

// partsOf are the values in a map, in the order of its keys, or in a slice.
func partsOf(value any, place string) (parts []part) {
	_, isOfPackage := value.(members)
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Map:
		for _, key := range v.MapKeys() {
			name := fmt.Sprint(key)
			// Refusals call a list of jobs so, too.
			if isOfPackage && name != "jobs" {
				name = goPath(name)
			}
			parts = append(parts, part{joined(place, name), v.MapIndex(key).Interface()})
		}
		sort.Slice(parts, func(i, j int) bool { return parts[i].place < parts[j].place })
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len(); i++ {
			parts = append(parts, part{fmt.Sprintf("%s[%d]", place, i), v.Index(i).Interface()})
		}
	}
	return parts
}

func joined(place, name string) string {
	if place == "" || name == "" {
		return place + name
	}
	return place + "." + name
}
