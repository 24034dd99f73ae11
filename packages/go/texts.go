package pumphouse

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Texts of errors: what happened, where, and what to do. Each is one line.

const (
	// maxShown is the number of characters of an answer that an error shows, maxFields that of the fields that it names.
	maxShown  = 120
	maxFields = 5
	// longBody is a number of bytes: a longer body may be the reason why a connection was closed. Usual proxies take a mebibyte.
	longBody = 1_000_000
	checkURL = "Check host, port and path of the URL; 7777 is the usual port, and 7778 the admin port"
)

// text says why the request got no answer.
func (s *sending) text(err error, isConnected bool) string {
	_, address, _ := strings.Cut(s.place, " ")
	origin, limit := originOf(address), s.timeout.Round(time.Millisecond)
	var record tls.RecordHeaderError
	what := oneLine(rootText(err))
	if !isConnected {
		where := "no connection to " + origin
		switch {
		case isTimeout(err):
			return fmt.Sprintf("%s within %v. Check host, port and firewall", where, limit)
		case isUnknownHost(err):
			return where + ": unknown host. Correct the URL"
		case errors.Is(err, syscall.ECONNREFUSED):
			return where + ": connection refused. Start the server there, or correct the URL"
		case isUntrusted(err):
			return fmt.Sprintf("the certificate of %s is not trusted: %s. Give its CA by Config.Transport", origin, what)
		case errors.As(err, &record), strings.Contains(what, "HTTP response to HTTPS client"):
			return fmt.Sprintf("no TLS connection to %s: what came is not TLS. Without TLS the URL begins with http://", origin)
		}
		return fmt.Sprintf("%s: %s. Check the network", where, what)
	}
	switch {
	case isTimeout(err):
		return fmt.Sprintf("no answer to %s within %v. The server may be overloaded: try again later", s.place, limit)
	case strings.Contains(what, "malformed HTTP"):
		what = "what came is not HTTP"
	case isClosed(err):
		what = "the connection was closed"
		if s.size > longBody {
			return fmt.Sprintf("no answer to %s: %s. The body of %d bytes may be longer than the server or a proxy accepts: send less in one call", s.place, what, s.size)
		}
	default:
		return fmt.Sprintf("no answer to %s: %s. Check the network", s.place, what)
	}
	if strings.HasPrefix(address, "http://") {
		return fmt.Sprintf("no answer to %s: %s. With TLS the URL begins with https://", s.place, what)
	}
	return fmt.Sprintf("no answer to %s: %s. Check the server's log", s.place, what)
}

// isClosed: the server has closed the connection. net.ErrClosed is of a body that was still being written then.
func isClosed(err error) bool {
	for _, kind := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Scheme + "://" + parsed.Host
}

func isUnknownHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

func isTimeout(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}

func isUntrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// rootText is the text of an error without that of net/http around it, which repeats the URL.
func rootText(err error) string {
	var around *url.Error
	if errors.As(err, &around) {
		return around.Err.Error()
	}
	return err.Error()
}

// refusalText says what the server refuses. place is method and URL; code is "" if the answer has none, as one of a proxy; fields
// is the text about refused fields.
func refusalText(response *http.Response, body []byte, place, namespace, code, detail, fields string) string {
	status, location := response.StatusCode, response.Header.Get("Location")
	source := fmt.Sprintf("%d from %s", status, place)
	switch {
	case status >= 300 && status < 400 && location != "":
		return fmt.Sprintf("%s leads to %s. The client follows no redirect: correct the URL", source, oneLine(location))
	case code == "" && status >= 502 && status <= 504:
		return fmt.Sprintf("%s: %s. The proxy reaches no server: try again later", source, shown(body))
	case code == "":
		return foreignText(status, place, body)
	}
	text := fields
	if text == "" {
		text = oneLine(detail)
	}
	if text == "" {
		text = "refused"
	}
	text += " (" + source + ")"
	switch code {
	case "token_invalid":
		text += ". Make one: pumphouse token create " + namespace + " -d 'what it is for'"
	case "token_missing":
		text += ". A proxy may have removed the header X-Token"
	case "not_found":
		if strings.Contains(place, "/v1/v1/") {
			text += ". The URL of the client ends before /v1"
		}
	}
	return text
}

// foreignText is for an answer that is none of the API.
func foreignText(status int, place string, body []byte) string {
	return fmt.Sprintf("%d from %s is no answer of Pumphouse's API: %s. %s", status, place, shown(body), checkURL)
}

// fieldsText has the fields that the server refused, each with its rule; "" if there are none. isTyped: under their names in Go.
func fieldsText(fields []FieldError, isTyped bool) string {
	var texts []string
	for _, one := range fields {
		if one.Field == "" || one.Rule == "" {
			continue
		}
		if isTyped {
			one = FieldError{Field: goPath(one.Field), Rule: namedFields.ReplaceAllStringFunc(one.Rule, goPhrase)}
		}
		texts = append(texts, oneLine(one.Field+" "+one.Rule))
	}
	if more := len(texts) - maxFields; more > 0 {
		texts = append(texts[:maxFields], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// goNames has what is called otherwise in Go than by the words of the API.
var goNames = map[string]string{
	"Idempotency-Key": "WithIdempotencyKey", "Idempotency-TTL-Ms": "WithIdempotencyTTL", "X-Durability": "WithDurability",
	"push.url": "PushURL", "data_base64": "Data", "max_ms": "MaxDelay", "tz": "TimeZone",
	"id": "ID", "ids": "IDs", "ttl": "TTL", "ttr": "TTR", "url": "URL",
}

// namedFields are fields that a rule names.
var namedFields = regexp.MustCompile(`\b(?:together with|at least|less than) [a-z]+(?:_[a-z]+)+\b`)

func goPhrase(phrase string) string {
	at := strings.LastIndex(phrase, " ") + 1
	return phrase[:at] + goPath(phrase[at:])
}

// goPath is the path of a field in Go: jobs[1].Retry.Delay for jobs[1].retry.delay_ms.
func goPath(path string) string {
	if strings.HasPrefix(path, "jobs[") {
		list, rest, isBelow := strings.Cut(path, ".")
		if !isBelow {
			return path
		}
		return list + "." + goPath(rest)
	}
	if known := goNames[path]; known != "" {
		return known
	}
	names := strings.Split(path, ".")
	for i, name := range names {
		// Keys of attributes are the caller's own.
		if i > 0 && names[i-1] == "Attributes" {
			break
		}
		names[i] = goName(name)
	}
	return strings.Join(names, ".")
}

// goName is the name of one field, which may have an index: DependsOn[3] for depends_on[3].
func goName(name string) string {
	name, index, isList := strings.Cut(name, "[")
	made := goNames[name]
	if made == "" {
		for _, word := range strings.Split(strings.TrimSuffix(name, "_ms"), "_") {
			if initials := goNames[word]; initials != "" {
				made += initials
			} else if word != "" {
				made += strings.ToUpper(word[:1]) + word[1:]
			}
		}
	}
	if isList {
		made += "[" + index
	}
	return made
}

var (
	titles = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)
	marks  = regexp.MustCompile(`<[^>]*>`)
	blanks = regexp.MustCompile(`[\s\x00-\x1f\x{7f}-\x{9f}\x{2028}\x{2029}]+`)
)

// shown is the beginning of an answer that is none of the API: the title of a page, or its text.
func shown(body []byte) string {
	if len(body) > 10_000 {
		body = body[:10_000]
	}
	text := string(bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if title := titles.FindStringSubmatch(text); title != nil {
		text = title[1]
	}
	text = oneLine(marks.ReplaceAllString(text, " "))
	if text == "" {
		return "an empty answer"
	}
	if letters := []rune(text); len(letters) > maxShown {
		text = string(letters[:maxShown-1]) + "…"
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSpace(quoted.String())
}

func oneLine(text string) string { return strings.TrimSpace(blanks.ReplaceAllString(text, " ")) }
