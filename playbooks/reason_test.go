package playbooks

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// TestReasons makes an event of an error for each code. Events allow the codes that occur, and
// no others, and docs/reference/events.md has a row for each.
func TestReasons(t *testing.T) {
	found := map[string][]string{} // codes, by event
	for _, c := range []struct {
		err  error
		want string
	}{
		{transport.ErrHostKeyUnknown, "host_key_unknown"},
		{transport.ErrHostKeyChanged, "host_key_changed"},
		{transport.ErrHostKeyRevoked, "host_key_revoked"},
		{transport.ErrAuth, "authentication_refused"},
		{transport.ErrPassphrase, "authentication_refused"},
		{transport.ErrTimeout, "timeout"},
		{syscall.ETIMEDOUT, "timeout"},
		{syscall.ECONNREFUSED, "connection_refused"},
		{syscall.EHOSTUNREACH, "no_route"},
		{syscall.ENETUNREACH, "no_route"},
		{&net.DNSError{IsNotFound: true}, "name_not_found"},
		{&net.DNSError{}, ""},
		{errors.New("a banner"), ""},
	} {
		e := failure("p", "h", &transport.HostError{Host: "h", Op: transport.OpDial, Addr: "h:22", Err: fmt.Errorf("x: %w", c.err)})
		require.Equal(t, c.want, e.(events.Unreachable).Reason, "%v", c.err)
		found["unreachable"] = append(found["unreachable"], c.want)
	}
	at := func(op string, err error) error {
		return &transport.HostError{Host: "h", Op: op, Addr: "h:22", Err: err}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{at(transport.OpBecome, transport.ErrBecome), "become_refused"},
		{at(transport.OpInstall, transport.ErrNoSpace), "no_space"},
		{at(transport.OpInstall, transport.ErrNoBuild), "no_build"},
		{at(transport.OpInstall, transport.ErrInstall), "not_installed"},
		{at(transport.OpStart, transport.ErrNotModule), "no_answer"},
		{at(transport.OpStart, transport.ErrTimeout), "timeout"},
		{phased(&session.Late{What: "exec#b"}, events.Rest{}), "timeout"},
		{phased(session.Refused{Phase: "lock", Locked: true}, events.Rest{}), "locked"},
		{phased(session.Refused{Phase: "lock", Locked: true, Own: true}, events.Rest{}), "same_machine"},
		{phased(session.Refused{Phase: "facts"}, events.Rest{}), ""},
		{phased(errors.New("reset"), events.Rest{}), ""},
	} {
		e := failure("p", "h", c.err)
		require.Equal(t, c.want, e.(events.HostFailed).Reason, "%v", c.err)
		found["host_failed"] = append(found["host_failed"], c.want)
	}
	for _, code := range wire.SkipReasons() {
		found["result"] = append(found["result"], string(code))
	}
	found["result"] = append(found["result"], "no_health_checks")
	page, err := os.ReadFile("../docs/reference/events.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "\n| cause | `reason` |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	table = regexp.MustCompile(`(?m)^.*\| (.*) \|$`).ReplaceAllString(table, "$1")
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(table, -1) {
		rows[m[1]] = true
	}
	occur := map[string]bool{}
	for _, def := range events.Schema().Defs {
		if codes := found[def.Name]; codes != nil {
			slices.Sort(codes)
			codes = slices.DeleteFunc(slices.Compact(codes), func(code string) bool { return code == "" })
			var allowed []string
			for _, code := range def.Schema.Properties.Get("reason").Enum {
				allowed = append(allowed, code.(string))
			}
			require.ElementsMatch(t, codes, allowed, def.Name)
			for _, code := range codes {
				occur[code] = true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(occur)), slices.Sorted(maps.Keys(rows)), "docs/reference/events.md")
}
