package pumphouse_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	pumphouse "github.com/pumphouse/pumphouse/packages/go"
)

func TestAWebhookFarFromNowIsRefusedHoweverFarItIs(t *testing.T) {
	key := []byte("a key for tests")
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	verify := func(seconds int64, tolerance time.Duration) error {
		timestamp := fmt.Sprint(seconds)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("id." + timestamp + ".body"))
		header := http.Header{}
		header.Set("webhook-id", "id")
		header.Set("webhook-timestamp", timestamp)
		header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		now := func() time.Time { return time.Unix(1_000_000_000, 500_000_000) }
		_, err := pumphouse.Verifier{Secrets: []string{secret}, Tolerance: tolerance, Now: now}.Verify(header, []byte("body"))
		return err
	}
	for _, seconds := range []int64{0, 999_999_700, 1_000_000_301, 10_300_000_000, 999_999_999_999} {
		if err := verify(seconds, 0); !errors.Is(err, pumphouse.ErrWebhook) {
			t.Errorf("%d: the error is %v", seconds, err)
		}
	}
	for seconds, tolerance := range map[int64]time.Duration{999_999_701: 0, 1_000_000_300: 0, 1_000_000_000: 500 * time.Millisecond} {
		if err := verify(seconds, tolerance); err != nil {
			t.Errorf("%d: the error is %v", seconds, err)
		}
	}
}
