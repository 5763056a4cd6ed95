//go:build e2e

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/cron"
)

// startCronHost adds s001, which has a real crontab, to the fleet.
func startCronHost(t *testing.T) *fleet {
	t.Helper()
	f := startFleet(t)
	if !strings.Contains(f.tool("status"), "s001\t") {
		f.tool("up", "1", "--systemd")
		t.Cleanup(func() { f.tool("down", "s001") })
	}
	write(t, f.path("root.yaml"), f.tool("inventory"))
	write(t, f.path("deploy.yaml"), f.tool("inventory", "--user", "deploy"))
	f.dropCrontabs()
	t.Cleanup(f.dropCrontabs)
	return f
}

func (f *fleet) dropCrontabs() {
	f.sh("s001", "rm -rf /root/.cache /home/deploy/.cache; rm -f /var/spool/cron/crontabs/root /var/spool/cron/crontabs/deploy")
}

const cronSite = `
- hosts: s001
  ccm:
    resources:
      - cron:
          - backup: {command: backup --all, minute: 0, hour: 3, weekday: mon-fri, user: deploy}
          - report: {command: "date +\\%F", special: "@daily", user: deploy}
          - later: {command: "true", month: "jan-mar,dec", day: "*/2", disabled: true, user: deploy}
          - gone: {ensure: absent, user: deploy}
          - own: {command: "true", hour: 4, minute: 5-59/10}
`

// TestFleetCron has entries in real crontabs, of root and of another user.
func TestFleetCron(t *testing.T) {
	f := startCronHost(t)
	f.sh("s001", `printf 'MAILTO=""\n#ccm-push: gone\n1 1 1 1 1 gone\n# kept\n1 1 1 1 1 kept\n' | crontab -u deploy -`)
	write(t, f.path("cron.yaml"), cronSite)
	f.foretells("cron.yaml", "-l", "s001")
	require.Equal(t, `MAILTO=""
# kept
1 1 1 1 1 kept
#ccm-push: backup
0 3 * * mon-fri backup --all
#ccm-push: report
@daily date +\%F
#ccm-push: later
#* * */2 jan-mar,dec * true
`, f.sh("s001", "crontab -u deploy -l"))
	require.Equal(t, "#ccm-push: own\n5-59/10 4 * * * true\n", f.sh("s001", "crontab -l"))

	f.push("-i", "deploy.yaml", "s001", "cron", "own", "command=true", "hour=5").requireCode(t, 0)
	require.Contains(t, f.sh("s001", "crontab -u deploy -l"), "#ccm-push: own\n* 5 * * * true\n")
	for _, check := range []string{"--check", "--diff"} {
		r := f.push("-i", "deploy.yaml", check, "s001", "cron", "theirs", "command=true", "user=root")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, `may not change the crontab of user 0: permission denied; use "become"`)
		r = f.push("-i", "root.yaml", check, "h001", "cron", "none", "command=true")
		r.requireCode(t, 2)
		require.Contains(t, r.stdout, "no crontab program (install the package cron or cronie first)")
	}
}

// TestFleetCronTakesEverySchedule installs a real crontab with a thousand schedules
// that the type accepts.
func TestFleetCronTakesEverySchedule(t *testing.T) {
	f := startCronHost(t)
	g := rand.New(rand.NewPCG(1, 0))
	var b strings.Builder
	for accepted := 0; accepted < 1000; {
		field := func() string { return randomField(g) }
		c := cron.Cron{Name: "n", Command: "true", Minute: field(), Hour: field(), Day: field(), Month: field(), Weekday: field()}
		properties, err := json.Marshal(c)
		require.NoError(t, err)
		if _, err := (modules.Registry{cron.Type()}).Decode("cron", properties); err != nil {
			continue
		}
		accepted++
		b.WriteString(strings.Join([]string{c.Minute, c.Hour, c.Day, c.Month, c.Weekday, "true\n"}, " "))
	}
	f.sh("s001", "crontab - <<'END'\n"+b.String()+"END\n")
	require.Equal(t, b.String(), f.sh("s001", "crontab -l"))
}

func randomField(g *rand.Rand) string {
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	number := func() string {
		return pick("0", "1", "2", "05", "7", "11", "12", "23", "31", "59", "60", "jan", "dec", "Sun", "sat")
	}
	element := func() string {
		return pick("*", number(), number()+"-"+number()) + pick("", "", "/"+number())
	}
	if g.IntN(2) == 0 {
		return "*"
	}
	field := element()
	for g.IntN(3) == 0 {
		field += "," + element()
	}
	return field
}
