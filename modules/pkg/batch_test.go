package pkg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// single hides that a resource can go with others.
type single struct{ modules.Resource }

// counting counts the transactions.
type counting struct {
	modules.Commands
	transactions int
	after        func(n int) // called after each, if set
}

func (c *counting) Run(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	c.transactions++
	exit, err := c.Commands.Run(ctx, cmd)
	if c.after != nil {
		c.after(c.transactions)
	}
	return exit, err
}

// A trial is a catalog of packages on a host of its own.
type trial struct {
	a       *archive
	status  string // dpkg's status file before
	entries []wire.Entry
	check   bool
	strict  bool // fail_on_error
	singly  bool
	stop    func() bool
}

// An ending is the result of a trial.
type ending struct {
	results      []*wire.Result
	transactions int
	packages     string // name, version and status, line by line
}

func (e ending) brief() string {
	var all []string
	for _, r := range e.results {
		status := string(r.Status)
		if status == "" {
			status = "stable"
		}
		all = append(all, status)
	}
	return strings.Join(all, " ")
}

func (tr trial) run(t *testing.T) ending {
	t.Helper()
	root := modtest.Root(t)
	modtest.Build(t, root, dpkgTree(tr.status))
	h := tr.a.host(root)
	counter := &counting{Commands: h.Commands}
	h.Commands = counter
	e := &engine.Engine{Host: h, Now: time.Now, Stop: tr.stop}
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) {
		res, err := modules.Registry{pkg.Type()}.Decode("package", entry.Properties)
		if tr.singly {
			res = single{res}
		}
		return res, err
	}
	var end ending
	_, err := e.Run(t.Context(), &wire.Catalog{Check: tr.check, FailOnError: tr.strict, Entries: tr.entries}, func(r *wire.Result) error {
		end.results = append(end.results, r)
		return nil
	})
	require.NoError(t, err)
	end.transactions = counter.transactions
	end.packages = tr.a.installed(t, root)
	return end
}

func (a *archive) installed(t *testing.T, root string) string {
	t.Helper()
	exit, err := a.host(root).Commands.Probe(t.Context(), modules.Command{Argv: []string{"dpkg-query", "-W", "-f", `${Package} ${Version} ${db:Status-Status}\n`}})
	require.NoError(t, err)
	return exit.Stdout.Text
}

// entry is a package and its ensure; changes may be made to it.
func entry(name, ensure string, change ...func(*wire.Entry)) wire.Entry {
	properties, _ := json.Marshal(map[string]string{"name": name, "ensure": ensure})
	e := wire.Entry{Type: "package", Name: name, Properties: properties}
	for _, c := range change {
		c(&e)
	}
	return e
}

func requires(i ...int) func(*wire.Entry) { return func(e *wire.Entry) { e.Require = i } }
func noop(e *wire.Entry)                  { e.Check = true }

func TestBatch(t *testing.T) {
	a := newArchive(t)
	old := has(ok, "demo", "1.0", "") + has(ok, "tool", "1.0", "")
	broken := "apt-get install ended with exit code 100: cannot start; dpkg: error processing package broken (--configure): installed broken package post-installation script subprocess returned error exit status 3"
	for _, test := range []struct {
		name         string
		trial        trial
		want         string
		transactions int
		errors       []string
		packages     string
	}{
		{
			name:  "five in one",
			trial: trial{entries: []wire.Entry{entry("demo", "1.1"), entry("epoch", "present"), entry("tool", "latest"), entry("left", "present"), entry("only", "1.0")}},
			want:  "changed changed changed changed changed", transactions: 1,
			packages: "demo 1.1 installed\nepoch 1:1.0-1 installed\nleft 1.0 installed\nonly 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "installing and upgrading are one action",
			trial: trial{status: old, entries: []wire.Entry{entry("demo", "latest"), entry("left", "present")}},
			want:  "changed changed", transactions: 1, packages: "demo 2.0 installed\nleft 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "removing is another",
			trial: trial{status: old, entries: []wire.Entry{entry("demo", "absent"), entry("tool", "absent"), entry("left", "present"), entry("only", "present")}},
			want:  "changed changed changed changed", transactions: 2, packages: "left 1.0 installed\nonly 1.0 installed\n",
		},
		{
			name:  "what is as it should be stands between",
			trial: trial{status: old, entries: []wire.Entry{entry("left", "present"), entry("demo", "present"), entry("only", "present")}},
			want:  "changed stable changed", transactions: 2, packages: "demo 1.0 installed\nleft 1.0 installed\nonly 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "a culprit is named, and the others are there",
			trial: trial{entries: []wire.Entry{entry("demo", "1.0"), entry("tool", "present"), entry("broken", "present"), entry("left", "present"), entry("only", "present")}},
			want:  "changed changed failed changed changed", transactions: 2, errors: []string{broken},
			packages: "broken 1.0 half-configured\ndemo 1.0 installed\nleft 1.0 installed\nonly 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "one that is refused",
			trial: trial{entries: []wire.Entry{entry("demo", "1.0"), entry("needy", "present"), entry("tool", "present")}},
			want:  "changed failed changed", transactions: 2,
			errors: []string{"apt-get install needy=1.0 ended with exit code 100: needy : Depends: nosuch (>= 2) but it is not installable; " +
				"Unable to correct problems, you have held broken packages."},
			packages: "demo 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "two that exclude each other",
			trial: trial{entries: []wire.Entry{entry("left", "present"), entry("right", "present"), entry("tool", "present")}},
			want:  "changed changed changed", transactions: 4, packages: "right 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "a dependency comes with the one before",
			trial: trial{entries: []wire.Entry{entry("needs-demo", "present"), entry("demo", "present"), entry("tool", "present")}},
			want:  "changed stable changed", transactions: 2, packages: "demo 2.0 installed\nneeds-demo 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "the same package again",
			trial: trial{entries: []wire.Entry{entry("demo", "1.0"), entry("demo", "2.0"), entry("demo", "present")}},
			want:  "changed changed stable", transactions: 2, packages: "demo 2.0 installed\n",
		},
		{
			name:  "a requirement that fails",
			trial: trial{entries: []wire.Entry{entry("broken", "present"), entry("demo", "1.0", requires(0)), entry("tool", "present", requires(1)), entry("left", "present")}},
			want:  "failed skipped skipped changed", transactions: 2, errors: []string{broken},
			packages: "broken 1.0 half-configured\nleft 1.0 installed\n",
		},
		{
			name:  "a requirement that is met",
			trial: trial{entries: []wire.Entry{entry("demo", "1.0"), entry("left", "present", requires(0)), entry("tool", "present", requires(0))}},
			want:  "changed changed changed", transactions: 2, packages: "demo 1.0 installed\nleft 1.0 installed\ntool 1.0 installed\n",
		},
		{
			name:  "the first failure ends the run",
			trial: trial{strict: true, entries: []wire.Entry{entry("demo", "1.0"), entry("broken", "present"), entry("tool", "present")}},
			want:  "changed failed skipped", transactions: 2, errors: []string{broken}, packages: "broken 1.0 half-configured\ndemo 1.0 installed\n",
		},
		{
			name:  "one that is only predicted",
			trial: trial{entries: []wire.Entry{entry("demo", "1.0"), entry("tool", "present", noop), entry("left", "present")}},
			want:  "changed changed changed", transactions: 2, packages: "demo 1.0 installed\nleft 1.0 installed\n",
		},
		{
			name:  "a check run",
			trial: trial{check: true, status: old, entries: []wire.Entry{entry("left", "present"), entry("demo", "absent"), entry("demo", "absent")}},
			want:  "changed changed stable", packages: "demo 1.0 installed\ntool 1.0 installed\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.trial.a = a
			end := test.trial.run(t)
			require.Equal(t, test.want, end.brief(), "%+v", end.results)
			require.Equal(t, test.transactions, end.transactions)
			require.Equal(t, test.packages, end.packages)
			var errors []string
			for _, r := range end.results {
				if r.Error != "" {
					errors = append(errors, r.Error)
				}
			}
			require.Equal(t, test.errors, errors)
		})
	}
}

// TestBatchIsReportedWhole stops the run after its first resource: the changes of the other resources in the batch have
// happened, and are reported.
func TestBatchIsReportedWhole(t *testing.T) {
	asked := 0
	end := trial{
		a:       newArchive(t),
		status:  has(ok, "left", "1.0", ""),
		entries: []wire.Entry{entry("demo", "1.0"), entry("tool", "present"), entry("left", "absent")},
		stop:    func() bool { asked++; return asked > 1 },
	}.run(t)
	require.Equal(t, "changed changed", end.brief())
	require.Equal(t, "demo 1.0 installed\nleft 1.0 installed\ntool 1.0 installed\n", end.packages)
}

// TestBatchChangesNoResult generates catalogs and compares batched runs with runs of one package after the other.
func TestBatchChangesNoResult(t *testing.T) {
	a := newArchive(t)
	r := rand.New(rand.NewPCG(4, 4))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	batched, catalogs := 0, 25
	if testing.Short() {
		catalogs /= 5
	}
	for n := range catalogs {
		tr := trial{a: a, strict: r.IntN(5) == 0}
		for _, name := range []string{"demo", "tool", "left"} {
			if r.IntN(3) == 0 {
				tr.status += has(ok, name, "1.0", "")
			}
		}
		for i := range 2 + r.IntN(5) {
			e := entry(pick("demo", "demo", "tool", "epoch", "left", "right", "needs-demo", "broken", "needy", "only", "mta-a"), pick("present", "present", "present", "latest", "absent"))
			if i > 0 && r.IntN(4) == 0 {
				e.Require = []int{r.IntN(i)}
			}
			tr.entries = append(tr.entries, e)
		}
		together := tr.run(t)
		tr.singly = true
		alone := tr.run(t)
		require.Equal(t, essence(alone.results), essence(together.results), "catalog %d: %s", n, names(tr.entries))
		require.Equal(t, alone.packages, together.packages, "catalog %d: %s", n, names(tr.entries))
		if together.transactions < alone.transactions {
			batched++
		}
	}
	require.Greater(t, batched, catalogs/8, "hardly anything went together")
}

func names(entries []wire.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s %v", e.Properties, e.Require))
	}
	return strings.Join(all, "\n")
}

func essence(results []*wire.Result) []string {
	var all []string
	for _, r := range results {
		all = append(all, fmt.Sprint(r.Index, r.Status, r.Message, r.Because, r.Changes))
	}
	slices.Sort(all)
	return all
}
