package cron

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJob(t *testing.T) {
	for _, test := range []struct {
		cron Cron
		line string
	}{
		{Cron{Command: "x y", Minute: "0", Hour: "3", Day: "*", Month: "jan", Weekday: "1-5"}, "0 3 * jan 1-5 x y"},
		{Cron{Command: "  x ", Minute: "*", Hour: "*", Day: "*", Month: "*", Weekday: "*"}, "* * * * * x "},
		{Cron{Command: "x", Special: "@daily"}, "@daily x"},
		{Cron{Command: "x", Special: "daily", Disabled: true}, "#@daily x"},
		{Cron{Command: "#x", Minute: "*/5", Hour: "*", Day: "*", Month: "*", Weekday: "*", Disabled: true}, "#*/5 * * * * #x"},
	} {
		j := test.cron.job()
		require.Equal(t, test.line, j.String())
		again, ok := parseJob(test.line)
		require.True(t, ok, test.line)
		require.Equal(t, j, again)
	}
}

func TestParseJob(t *testing.T) {
	for line, want := range map[string]job{
		"0\t3 * *  * x":     {"0 3 * * *", "x", false},
		"  0 3 * * * x":     {"0 3 * * *", "x", false},
		"# 0 3 * * * x":     {"0 3 * * *", "x", true},
		"-0 3 * * * x":      {"-0 3 * * *", "x", false},
		"~ 3 * * * x":       {"~ 3 * * *", "x", false},
		"@every_minute x":   {"@every_minute", "x", false},
		"* * * * * a=b # c": {"* * * * *", "a=b # c", false},
	} {
		have, ok := parseJob(line)
		require.True(t, ok, line)
		require.Equal(t, want, have, line)
	}
	for _, line := range []string{
		"", " ", "#", "# a comment", "#ccm-push: other", "#Ansible: other", "MAILTO=x", "A = b c d e f", "* * * * *", "* * * *", "@daily", "# 5 apples are in the basket today", "#@",
	} {
		_, ok := parseJob(line)
		require.False(t, ok, line)
	}
}

func TestEdited(t *testing.T) {
	want := &job{schedule: "0 3 * * *", command: "x"}
	for _, test := range []struct {
		name       string
		have       string
		want       *job
		text       string
		found      int
		wasCommand string
	}{
		{"first entry", "", want, "#ccm-push: n\n0 3 * * * x\n", 0, ""},
		{"added", "MAILTO=me\n\n1 1 1 1 1 y\n", want, "MAILTO=me\n\n1 1 1 1 1 y\n#ccm-push: n\n0 3 * * * x\n", 0, ""},
		{"added to a line without an end", "1 1 1 1 1 y", want, "1 1 1 1 1 y\n#ccm-push: n\n0 3 * * * x\n", 0, ""},
		{"right", "#ccm-push: n\n0 3 * * * x\n1 1 1 1 1 y\n", want, "#ccm-push: n\n0 3 * * * x\n1 1 1 1 1 y\n", 1, "x"},
		{"right but for blanks", "#ccm-push: n\n 0  3 *\t* * x\n", want, "#ccm-push: n\n 0  3 *\t* * x\n", 1, "x"},
		{"right, at the end of a file without a line end", "#ccm-push: n\n0 3 * * * x", want, "#ccm-push: n\n0 3 * * * x", 1, "x"},
		{"other command", "a\n#ccm-push: n\n0 3 * * * y\nb\n", want, "a\n#ccm-push: n\n0 3 * * * x\nb\n", 1, "y"},
		{"other names", "#ccm-push: nn\n0 3 * * * y\n#Ansible: n\n0 3 * * * z\n", want, "#ccm-push: nn\n0 3 * * * y\n#Ansible: n\n0 3 * * * z\n#ccm-push: n\n0 3 * * * x\n", 0, ""},
		{"disabled by hand", "#ccm-push: n\n# 0 3 * * * x\n", want, "#ccm-push: n\n0 3 * * * x\n", 1, "x"},
		{"a carriage return is a part of the command", "#ccm-push: n\n0 3 * * * x\r\n", want, "#ccm-push: n\n0 3 * * * x\n", 1, "x\r"},
		{"line ends of Windows", "A=b\r\n#ccm-push: n\r\n0 3 * * * x\r\n1 1 1 1 1 y\r\n", want, "A=b\r\n#ccm-push: n\r\n0 3 * * * x\n1 1 1 1 1 y\r\n", 1, "x\r"},
		{"entry taken away, a comment follows", "#ccm-push: n\n# my jobs\n1 1 1 1 1 y\n", want, "#ccm-push: n\n0 3 * * * x\n# my jobs\n1 1 1 1 1 y\n", 1, ""},
		{"entry taken away, a marker follows", "#ccm-push: n\n#ccm-push: m\n1 1 1 1 1 y\n", want, "#ccm-push: n\n0 3 * * * x\n#ccm-push: m\n1 1 1 1 1 y\n", 1, ""},
		{"marker at the end", "a\n#ccm-push: n", want, "a\n#ccm-push: n\n0 3 * * * x\n", 1, ""},
		{"twice", "#ccm-push: n\n0 3 * * * x\na\n#ccm-push: n\n0 4 * * * y\nb\n", want, "#ccm-push: n\n0 3 * * * x\na\nb\n", 2, "x"},
		{"removed", "a\n#ccm-push: n\n0 3 * * * x\nb", nil, "a\nb\n", 1, "x"},
		{"removed twice", "#ccm-push: n\n0 3 * * * x\n#ccm-push: n\n", nil, "", 2, "x"},
		{"nothing to remove", "a\nb", nil, "a\nb", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := edited(test.have, "n", test.want)
			require.Equal(t, test.text, e.text)
			require.Equal(t, test.found, e.found)
			if e.was != nil {
				require.Equal(t, test.wasCommand, e.was.command)
			} else {
				require.Empty(t, test.wasCommand)
			}
		})
	}
}

// others are the lines that are not of the entry n.
func others(crontab string) []string {
	others := []string{}
	lines := strings.Split(strings.TrimSuffix(crontab, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if strings.TrimSuffix(lines[i], "\r") != markerPrefix+"n" {
			others = append(others, lines[i])
			continue
		}
		if i+1 < len(lines) {
			if _, ok := parseJob(lines[i+1]); ok {
				i++
			}
		}
	}
	return slices.DeleteFunc(others, func(line string) bool { return line == "" })
}

// requireEdited checks the rules of every edit: other lines stay, a second edit changes nothing, and the result is the
// wanted one.
func requireEdited(t *testing.T, crontab string, want *job) {
	t.Helper()
	e := edited(crontab, "n", want)
	require.Equal(t, others(crontab), others(e.text), "%q", crontab)
	again := edited(e.text, "n", want)
	require.Equal(t, e.text, again.text, "%q", crontab)
	if want == nil {
		require.Zero(t, again.found, "%q", crontab)
		return
	}
	require.Equal(t, 1, again.found, "%q", crontab)
	require.Equal(t, want, again.was, "%q", crontab)
}

func TestEditedAtRandom(t *testing.T) {
	lines := []string{"#ccm-push: n", "#ccm-push: n\r", "#ccm-push: m", "0 3 * * * x", "#0 3 * * * x", "@daily y", "# text", "", "A=b", "* * * * * z\r", "not an entry"}
	seeds := uint64(20_000)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		g := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for range g.IntN(8) {
			b.WriteString(lines[g.IntN(len(lines))] + "\n")
		}
		crontab := strings.TrimSuffix(b.String(), []string{"", "\n"}[g.IntN(2)])
		requireEdited(t, crontab, nil)
		requireEdited(t, crontab, &job{schedule: "@daily", command: "y", disabled: g.IntN(2) == 0})
	}
}

func FuzzEdited(f *testing.F) {
	f.Add("#ccm-push: n\n0 3 * * * x\n", "x", "0", "@daily", true)
	f.Add("a\n#ccm-push: n", "#y", "*/5", "", false)
	f.Fuzz(func(t *testing.T, crontab, command, minute, special string, disabled bool) {
		c := Cron{Name: "n", Command: command, Minute: minute, Hour: "*", Day: "*", Month: "*", Weekday: "*", Special: special, Disabled: disabled}
		if c.Validate() != nil || minute == "" {
			return
		}
		want := c.job()
		if strings.ContainsAny(special, "\n \t") || special == "@" { // the enum rules it out
			return
		}
		requireEdited(t, crontab, &want)
		requireEdited(t, crontab, nil)
	})
}
