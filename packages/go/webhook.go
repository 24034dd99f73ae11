package pumphouse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ErrWebhook is why a webhook is not to be trusted. Answer it with 401.
var ErrWebhook = errors.New("pumphouse: the webhook is not to be trusted")

// Verifier verifies requests that Pumphouse pushes, or any others by Standard Webhooks (v1).
type Verifier struct {
	// Secrets are whsec_… of the target; several while it is rotated.
	Secrets []string
	// Tolerance is how far webhook-timestamp may be from now; 5 minutes.
	Tolerance time.Duration
	// Now is for tests; nil = time.Now.
	Now func() time.Time
}

// Verify verifies a request with the usual tolerance, as Verifier does.
func Verify(header http.Header, body []byte, secrets ...string) (jobID string, err error) {
	return Verifier{Secrets: secrets}.Verify(header, body)
}

const (
	scheme       = "v1,"
	secretPrefix = "whsec_"
	// mostSignatures are compared; a sender has one or two.
	mostSignatures = 10
)

var timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)

// Verify takes the body as it came, not parsed and written again. It returns the id of the job, which is the same for each attempt:
// a job that came before can be recognized. Its error is ErrWebhook.
func (v Verifier) Verify(header http.Header, body []byte) (jobID string, err error) {
	id, timestamp, given := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || timestamp == "" || given == "" {
		return "", fmt.Errorf("%w: a webhook header is missing", ErrWebhook)
	}
	if !timestampForm.MatchString(timestamp) {
		return "", fmt.Errorf("%w: webhook-timestamp is no time", ErrWebhook)
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	now, tolerance := time.Now, v.Tolerance
	if v.Now != nil {
		now = v.Now
	}
	if tolerance == 0 {
		tolerance = 5 * time.Minute
	}
	// A Duration would not hold all times that the form allows.
	if math.Abs(float64(now().UnixMilli())/1000-float64(seconds)) > tolerance.Seconds() {
		return "", fmt.Errorf("%w: webhook-timestamp is too far from now", ErrWebhook)
	}
	var signatures [][]byte
	for _, one := range strings.Split(given, " ") {
		if strings.HasPrefix(one, scheme) && len(signatures) < mostSignatures {
			signature, _ := base64.StdEncoding.DecodeString(one[len(scheme):])
			signatures = append(signatures, signature)
		}
	}
	for _, secret := range v.Secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if err != nil || len(key) == 0 {
			return "", fmt.Errorf("%w: the secret is no base64", ErrWebhook)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		expected := mac.Sum(nil)
		isRight := false
		for _, signature := range signatures {
			// Every signature is compared, whether or not an earlier one was right.
			isRight = hmac.Equal(signature, expected) || isRight
		}
		if isRight {
			return id, nil
		}
	}
	return "", fmt.Errorf("%w: no webhook-signature is right", ErrWebhook)
}
