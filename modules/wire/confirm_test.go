package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const nonceOfTests = "0123456789abcdefABCDEF"

// TestConfirmIsBounded checks the limits of all messages about confirmation.
func TestConfirmIsBounded(t *testing.T) {
	catalog := func(change func(*Confirm)) *Message {
		c := &Confirm{Mode: ConfirmAuto, Within: time.Minute, Login: "deploy", Nonce: nonceOfTests}
		change(c)
		return &Message{Catalog: &Catalog{Confirm: c}}
	}
	reverted := func(r Reverted) *Message { return &Message{Reverted: &r} }
	long := strings.Repeat("x", MaxUntoldText+1)
	for _, test := range []struct {
		name    string
		message *Message
		want    string
	}{
		{"good", catalog(func(*Confirm) {}), ""},
		{"a mode", catalog(func(c *Confirm) { c.Mode = "perhaps" }), `the mode of confirmation is unknown: "perhaps"`},
		{"soon", catalog(func(c *Confirm) { c.Within = time.Second }), "the time for confirmation is 1s, but must be 5s to 1h0m0s"},
		{"late", catalog(func(c *Confirm) { c.Within = 2 * time.Hour }), "the time for confirmation is 2h0m0s, but must be 5s to 1h0m0s"},
		{"a port", catalog(func(c *Confirm) { c.Port = 65536 }), "port 65536 is outside 0-65535"},
		{"a short nonce", catalog(func(c *Confirm) { c.Nonce = "abc" }), "a nonce of 3 bytes is not 16 to 64 letters and digits"},
		{"a nonce with a path", catalog(func(c *Confirm) { c.Nonce = "../../../../etc/passwd" }), "a nonce of 22 bytes is not 16 to 64 letters and digits"},
		{"a proof", &Message{Proof: &Proof{Nonce: nonceOfTests}}, ""},
		{"a proof of a path", &Message{Proof: &Proof{Nonce: "/etc/passwd/../etc"}}, "a nonce of 18 bytes is not 16 to 64 letters and digits"},
		{"watchdog", &Message{Watchdog: &Watchdog{}}, ""},
		{"watchdog with much", &Message{Watchdog: &Watchdog{Error: long}}, "why a watchdog could not be started is out of bounds"},
		{"armed for much", &Message{Arm: &Arm{Why: long}}, "a question for a second login is out of bounds"},
		{"confirmed", &Message{Confirmed: &Confirmed{Nonce: nonceOfTests, State: StateReverting}}, ""},
		{"a state", &Message{Confirmed: &Confirmed{State: "perhaps"}}, `a change is "perhaps"`},
		{"reverted", reverted(Reverted{Run: "r", Results: []UntoldResult{{Type: "file", Name: "/a", Status: Changed}, {Status: Skipped}, {Status: Failed}}}), ""},
		{"reverted to stable", reverted(Reverted{Results: []UntoldResult{{Status: Stable}}}), `the report of a reverted change has the status "stable"`},
		{"reverted for much", reverted(Reverted{Why: long}), "the report of a reverted change has a text of 1025 bytes"},
		{"reverted much", reverted(Reverted{Results: make([]UntoldResult, MaxUntold+1)}), "the report of a reverted change is out of bounds"},
		{"within a proof's answer", &Message{Confirmed: &Confirmed{State: StateReverted, Reverted: &Reverted{More: -1}}}, "the report of a reverted change is out of bounds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.want == "" {
				require.NoError(t, test.message.validate())
				return
			}
			require.EqualError(t, test.message.validate(), test.want)
		})
	}
}
