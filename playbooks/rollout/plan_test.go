package rollout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func count(n int) Amount          { return Amount{Count: n} }
func percent(p float64) Amount    { return Amount{Percent: p} }
func limit(a Amount) *Amount      { return &a }
func rest() Amount                { return Amount{Rest: true} }
func sizes(of ...Amount) []Amount { return of }

// hosts parses words: a1 is a host of group a. A suffix means: - nothing will change, ? it cannot be reached, x its
// check fails, ~ it is not healthy, * a service restarts.
func hosts(text string) []Host {
	var list []Host
	for _, word := range strings.Fields(text) {
		name := strings.TrimRight(word, "-?x~*")
		signs := word[len(name):]
		h := Host{Name: name, Group: name[:1], Changes: !strings.ContainsAny(signs, "-?x")}
		h.Unreachable, h.Failed, h.Broken = strings.Contains(signs, "?"), strings.Contains(signs, "x"), strings.Contains(signs, "~")
		if strings.Contains(signs, "*") {
			h.Restarts = []string{"service#web"}
		}
		list = append(list, h)
	}
	return list
}

// batches are written as words with | between them.
func batches(list [][]string) string {
	var parts []string
	for _, batch := range list {
		parts = append(parts, strings.Join(batch, " "))
	}
	return strings.Join(parts, " | ")
}

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		amount   Amount
		of       int
		up, down int
		text     string
	}{
		{count(3), 100, 3, 3, "3"},
		{count(3), 2, 3, 3, "3"},
		{percent(7), 100, 7, 7, "7%"},
		{percent(10), 11, 2, 1, "10%"},
		{percent(10), 9, 1, 1, "10%"},
		{percent(10), 0, 1, 1, "10%"},
		{percent(50), 3, 2, 1, "50%"},
		{percent(1.1), 3000, 33, 33, "1.1%"},
		{percent(2.3), 1000, 23, 23, "2.3%"},
		{percent(0.1), 3, 1, 1, "0.1%"},
		{percent(100), 7, 7, 7, "100%"},
		{percent(200), 7, 14, 14, "200%"},
		{rest(), 7, 7, 1, "rest"},
		{rest(), 0, 1, 1, "rest"},
	} {
		require.Equal(t, []any{c.up, c.down, c.text}, []any{c.amount.Up(c.of), c.amount.Down(c.of), c.amount.String()}, "%s of %d", c.amount, c.of)
	}
}

func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name    string
		sizes   []Amount
		options Options
		hosts   string
		want    string
		canary  bool
	}{
		{"none is one of all", nil, Options{}, "a1 a2 a3", "a1 a2 a3", false},
		{"no hosts", sizes(count(1), rest()), Options{}, "", "", false},
		{"no changes", sizes(count(1), rest()), Options{}, "a1- a2-", "", false},
		{"the last one repeats", sizes(count(1), count(2)), Options{}, "a1 a2 a3 a4 a5 a6", "a1 | a2 a3 | a4 a5 | a6", false},
		{"as in the manual", sizes(count(1), percent(10), percent(25), rest()), Options{}, "a1 a2 a3 a4 a5 a6 a7 a8 a9 b1 b2 b3",
			"a1 | a2 a3 | a4 a5 a6 | a7 a8 a9 b1 b2 b3", false},
		{"percent of those that will change", sizes(percent(50)), Options{}, "a1 a2- a3 a4- a5-", "a1 | a3", false},
		{"more than all", sizes(percent(300)), Options{}, "a1 a2", "a1 a2", false},
		{"more than remain", sizes(count(5), count(5)), Options{}, "a1 a2", "a1 a2", false},
		{"what is wrong is in none", sizes(count(2)), Options{}, "a1 a2? a3x a4~ a5 a6", "a1 a5 | a6", false},
		{"but for the broken ones, if they are included", sizes(count(2)), Options{IncludeBroken: true}, "a1 a2? a3x a4~ a5", "a1 a4 | a5", false},
		{"a broken one that will not change", nil, Options{IncludeBroken: true}, "a1~-", "", false},
		{"a canary", sizes(count(2), rest()), Options{Canary: "a3"}, "a1 a2 a3 a4 a5", "a3 | a1 a2 | a4 a5", true},
		{"a canary that will not change", sizes(count(2)), Options{Canary: "a3"}, "a1 a2 a3- a4", "a1 a2 | a4", false},
		{"a canary alone", nil, Options{Canary: "a1"}, "a1", "a1", true},
		{"begun before", sizes(count(1)), Options{Begun: [][]string{{"a1", "a2"}, {"a3", "a4"}}}, "a1- a2 a3 a4", "a2 | a3 a4", false},
		{"begun before, and done", nil, Options{Begun: [][]string{{"a1"}, {"a2"}}}, "a1- a2-", " | ", false},
		{"begun before, with hosts that are new and others that are gone", nil, Options{Begun: [][]string{{"a1", "a9"}, {"a2"}}}, "a0 a1 a2 a3", "a1 | a2 a0 a3", false},
		{"begun before with no batch", sizes(count(1)), Options{Begun: [][]string{}}, "a1 a2", "a1 | a2", false},
		{"begun before with one that is empty", nil, Options{Begun: [][]string{{}}}, "a1", "a1", false},
		{"begun with a canary", nil, Options{Begun: [][]string{{"a2"}, {"a1"}}, Canary: "a2"}, "a1 a2", "a2 | a1", true},
		{"behind a canary that is done", nil, Options{Begun: [][]string{{"a2"}, {"a1"}}, Canary: "a2"}, "a1 a2-", " | a1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPlan(Rules{Batches: c.sizes}, hosts(c.hosts), c.options)
			require.Equal(t, c.want, batches(p.Batches))
			require.Equal(t, c.canary, p.Canary)
		})
	}
}

func TestPlan(t *testing.T) {
	p := NewPlan(Rules{MaxUnavailable: limit(percent(50))}, hosts("a1* a2 a3*~ b1? b2x b3- b4~"), Options{IncludeBroken: true})
	unreachable, failed, broken := p.Trouble()
	require.Equal(t, [][]string{{"b1"}, {"b2"}, {"a3", "b4"}, {"b3"}}, [][]string{unreachable, failed, broken, p.Stable()})
	p.Host("a2").LikelyRestarts = []string{"service#app", "service#web"}
	require.Equal(t, []Restart{{"service#app", 0, 1}, {"service#web", 2, 1}}, p.Restarting(p.Batches[0]))
	require.True(t, p.Has("b4"))
	require.False(t, p.Has("b5"))
	require.Equal(t, "b4", p.Host("b4").Name)
}

func TestHarm(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
		hosts string
		forks int
		want  string
	}{
		{"all at once", Rules{}, "a1 a2 a3", 10, "3 of 3 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 3 in progress at the same time"},
		{"forks", Rules{}, "a1 a2 a3", 2, "2 of 3 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 2 in progress at the same time"},
		{"the largest batch", Rules{Batches: sizes(count(1), count(2)), Stop: Limits{Failed: limit(count(3))}}, "a1 a2 a3 a4 a5 a6", 10,
			"4 of 6 hosts fail before the rollout stops: 2 may fail without a stop (stop.failed: 3), plus 2 in progress at the same time"},
		{"places of each rack", Rules{MaxUnavailable: limit(count(1))}, "a1 a2 a3 b1 b2", 10,
			"2 of 5 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 2 in progress at the same time"},
		{"a limit beyond all", Rules{Batches: sizes(count(1)), Stop: Limits{Failed: limit(count(9))}}, "a1 a2", 10,
			"2 of 2 hosts fail before the rollout stops: 1 may fail without a stop (stop.failed: 9), plus 1 in progress at the same time"},
		{"unreachable ones have a limit of their own", Rules{Batches: sizes(count(1)), Stop: Limits{Failed: limit(count(2)), Unreachable: limit(percent(50))}}, "a1 a2 a3 a4 a5 a6", 10,
			"4 of 6 hosts fail before the rollout stops: 1 may fail without a stop (stop.failed: 2), 2 may be unreachable without a stop (stop.unreachable: 50%), plus 1 in progress at the same time"},
		{"broken ones take turns", Rules{MaxUnavailable: limit(count(1))}, "a1~ a2~ a3 a4 b1", 10,
			"2 of 5 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 2 in progress at the same time"},
		{"nobody", Rules{}, "a1-", 10, "0 of 0 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 0 in progress at the same time"},
		{"no hosts", Rules{}, "", 10, "0 of 0 hosts fail before the rollout stops: 0 may fail without a stop (stop.failed: 1), plus 0 in progress at the same time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, text := NewPlan(c.rules, hosts(c.hosts), Options{IncludeBroken: true}).Harm(c.forks)
			require.Equal(t, c.want, text)
		})
	}
}
