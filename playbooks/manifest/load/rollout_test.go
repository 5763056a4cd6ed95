package load

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// everyKey is a play with all keys of rollout.
const everyKey = `name: web
hosts: web*
become: true
data: {port: 80}
defaults: {exec: {timeout: 5m}}
tags: [web]
rollout:
  batches: [1, 12.5%, "3", rest]
  by: rack
  max_unavailable: 10%
  soak: 30
  host_deadline: 10m
  progress_deadline: 1d
  gate:
    - name: errors
      check: {command: "check_errors {{ Data.port }}", timeout: 5s}
      on: controller
      interval: 5s
      count: 3
      failure_limit: 1
      error_limit: 0
      inconclusive: stop
    - check: {goss_rules: {port: {"tcp:{{ Data.port }}": {listening: true}}}}
      compare: untouched
  drain:
    before:
      - exec: ["drain {{ Host.name }}": {on: lb1, alias: out}]
      - block:
          - exec: [sync: {require: ["exec#out"]}]
        name: both
        on: lb2
    after:
      - exec: ["fill {{ Host.name }}": {on: "{{ Data.port }}"}]
  stop: {failed: 3, unreachable: 2%, gate: 2, restarts: 25%, per_batch: {failed: 50%, unreachable: 1, gate: 1, restarts: 2}}
  on_stop: undo_batch
  pause: 2h
ccm: {resources: [exec: [x: ]], pre_message: hello}
`

func count(n int) *rollout.Amount           { return &rollout.Amount{Count: n} }
func percent(share float64) *rollout.Amount { return &rollout.Amount{Percent: share} }

func TestEveryKeyOfRollout(t *testing.T) {
	plays, err := parse(everyKey)
	require.NoError(t, err)
	p, r := plays[0], plays[0].Rollout
	require.Equal(t, rollout.Rules{
		Batches: []rollout.Amount{{Count: 1}, {Percent: 12.5}, {Count: 3}, {Rest: true}},
		By:      "rack", MaxUnavailable: percent(10),
		Soak: 30 * time.Second, HostDeadline: 10 * time.Minute, ProgressDeadline: 24 * time.Hour,
		Stop:     rollout.Limits{Failed: count(3), Unreachable: percent(2), Gate: count(2), Restarts: percent(25)},
		PerBatch: rollout.Limits{Failed: percent(50), Unreachable: count(1), Gate: count(1), Restarts: count(2)},
		OnStop:   rollout.UndoBatch,
		Pause:    true, PauseDeadline: 2 * time.Hour,
	}, r.Rules)
	require.Equal(t, "site.yaml:8:3", r.At.Pos())

	require.Len(t, r.Gates, 2)
	first, second := r.Gates[0], r.Gates[1]
	require.Equal(t, "controller", first.On.Text)
	require.Equal(t, manifest.Gate{
		Name: "errors", Check: first.Check, On: first.On, Interval: 5 * time.Second, Count: 3, FailureLimit: 1, Inconclusive: manifest.InconclusiveStop,
	}, *first)
	require.Equal(t, manifest.Gate{
		Name: "goss", Check: second.Check, Interval: 10 * time.Second, Count: 1, ErrorLimit: 3, Inconclusive: manifest.InconclusiveHold, Untouched: true,
	}, *second)

	require.Equal(t, []*manifest.Play{r.Before, r.After, first.Check, second.Check}, r.Plays())
	for _, one := range r.Plays() {
		require.Equal(t, p.Name, one.Name)
		require.Equal(t, p.Hosts, one.Hosts)
		require.Equal(t, p.Become, one.Become)
		require.Equal(t, p.Data, one.Data)
		require.Equal(t, p.Folder, one.Folder)
		require.Nil(t, one.Rollout)
		require.Nil(t, one.Pre)
		require.Empty(t, one.Tags)
		require.True(t, one.Whole())
	}
	require.Equal(t, "5m", r.Before.Resources[0].Properties.Node.Get("timeout").Text, "the defaults of the play")
	var asked []string
	p.Delegates(func(on *yamlpos.Node) { asked = append(asked, on.Text) })
	require.Equal(t, []string{"lb1", "lb2", "controller"}, asked)
}

// withRollout is a play with a block of these lines.
func withRollout(lines ...string) string {
	return "rollout:\n  " + strings.Join(lines, "\n  ") + "\n" + some
}

var goodRollouts = []struct{ name, manifest string }{
	{"every key", everyKey},
	{"nothing", "rollout: {}\n" + some},
	{"null", "rollout:\n" + some},
	{"nulls", withRollout("batches:", "by:", "max_unavailable:", "soak:", "gate:", "drain:", "stop:", "on_stop:", "pause:")},
	{"one of everything", withRollout("batches: 25%", "max_unavailable: 1", "gate: {check: {command: x}}", "drain: {after: [exec: [x: {on: lb}]]}", "stop: {failed: 1}", "pause: yes")},
	{"the rest", withRollout("batches: rest")},
	{"no pause", withRollout("pause: false")},
	{"a computed check", withRollout(`gate: {check: "{{ Data.check }}"}`)},
	{"any error is fatal", "any_errors_fatal: true\nserial: 1\n" + some},
}

func TestGoodRollouts(t *testing.T) {
	for _, c := range goodRollouts {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.NoError(t, err)
		})
	}
}

func TestDefaultsOfRollout(t *testing.T) {
	plays, err := parse("rollout: {}\n" + some)
	require.NoError(t, err)
	require.Equal(t, rollout.Rules{OnStop: rollout.Hold}, plays[0].Rollout.Rules)
	plays, err = parse("rollout:\n" + some)
	require.NoError(t, err)
	require.Nil(t, plays[0].Rollout)
	plays, err = parse("any_errors_fatal: true\n" + some)
	require.NoError(t, err)
	require.True(t, plays[0].AnyFatal)
}

const (
	batchesHint = "\n  hint: write a number of hosts or a percentage; the last batch can be \"rest\", for all remaining hosts: batches: [1, 10%, rest]"
	secretHint  = "\n  hint: move the secret into data of the manifest or into a variable of the inventory, and write an expression here, such as \"{{ Data.password }}\""
	pauseHint   = "\n  hint: write true, or the longest wait: pause: 2h"
)

func amountHint(key string) string {
	return "\n  hint: write a number of hosts, at least 1, or a percentage up to 100%, such as " + key + ": 3 or " + key + ": 10%"
}

var wrongRollouts = []struct{ name, manifest, want string }{
	{"no map", "rollout: careful\n" + some, "site.yaml:1:10: \"rollout\" must be a map, not the text \"careful\"\n  hint: write keys such as batches: [1, 10%, rest]"},
	{"unknown keys", withRollout("batch: 1", "gate: {check: {command: x}, inteval: 5s}", "drain: {befor: []}", "stop: {fail: 1, per_batch: {per_batch: 1}}"),
		"site.yaml:2:3: unknown key \"batch\" in \"rollout\" (did you mean \"batches\"?)\nsite.yaml:3:31: unknown key \"inteval\" in \"gate\" (did you mean \"interval\"?)\n" +
			"site.yaml:4:11: unknown key \"befor\" in \"rollout.drain\" (did you mean \"before\"?)\nsite.yaml:5:10: unknown key \"fail\" in \"rollout.stop\" (did you mean \"failed\"?)\n" +
			"site.yaml:5:31: unknown key \"per_batch\" in \"rollout.stop.per_batch\"\n  hint: known keys: failed, unreachable, gate, restarts"},
	{"batches", withRollout("batches: [0, 0%, 101%, 1.5, x, {a: b}, rest, 1]"),
		"site.yaml:2:13: the number 0 is not a batch size" + batchesHint + "\nsite.yaml:2:16: the text \"0%\" is not a batch size" + batchesHint +
			"\nsite.yaml:2:20: the text \"101%\" is not a batch size" + batchesHint + "\nsite.yaml:2:26: the number 1.5 is not a batch size" + batchesHint +
			"\nsite.yaml:2:31: the text \"x\" is not a batch size" + batchesHint + "\nsite.yaml:2:34: a map is not a batch size" + batchesHint +
			"\nsite.yaml:2:42: no batch can follow \"rest\", because \"rest\" contains all remaining hosts\n  hint: move \"rest\" to the end of the list, or remove it"},
	{"no batches", withRollout("batches: []"), `site.yaml:2:12: "batches" is empty` + batchesHint},
	{"amounts", withRollout("max_unavailable: 0", "stop: {failed: rest, unreachable: [1], restarts: 0%}"),
		`site.yaml:2:20: "max_unavailable" cannot be the number 0` + amountHint("max_unavailable") + "\nsite.yaml:3:18: \"failed\" cannot be the text \"rest\"" + amountHint("failed") +
			"\nsite.yaml:3:37: \"unreachable\" cannot be a list" + amountHint("unreachable") + "\nsite.yaml:3:52: \"restarts\" cannot be the text \"0%\"" + amountHint("restarts")},
	{"an expression", withRollout(`batches: "{{ Data.n }}"`, `by: "{{ Data.by }}"`, "max_unavailable: 1", `soak: "{{ Data.soak }}"`, `gate: {check: {command: x}, on: "{{ Data.on }}", name: "{{ 1 }}"}`),
		"site.yaml:2:12: the text \"{{ Data.n }}\" is not a batch size" + batchesHint + "\nsite.yaml:3:7: \"by\" cannot be an expression" + chooseHint +
			"\nsite.yaml:5:9: rollout.soak: \"{{ Data.soak }}\" is not a duration\nsite.yaml:6:35: \"on\" cannot be an expression" + chooseHint + "\nsite.yaml:6:58: \"name\" cannot be an expression" + chooseHint},
	{"durations", withRollout("soak: soon", "host_deadline: 31d", "progress_deadline: -5", "pause: 0", "gate: {check: {command: x}, interval: 5x}"),
		"site.yaml:2:9: rollout.soak: \"soon\" is not a duration\nsite.yaml:3:18: rollout.host_deadline: 31d is outside 0s-30d\nsite.yaml:4:22: rollout.progress_deadline: -5 is outside 0s-30d\n" +
			`site.yaml:5:10: "pause" cannot be the number 0` + pauseHint + "\nsite.yaml:6:41: gate.interval: \"5x\" is not a duration"},
	{"words", withRollout("on_stop: stop", "gate: {check: {command: x}, inconclusive: go, compare: all}"),
		"site.yaml:2:12: \"on_stop\" cannot be \"stop\"\n  hint: write hold or end or undo_batch or undo_all\nsite.yaml:3:45: \"inconclusive\" cannot be \"go\"\n  hint: write hold or stop\n" +
			"site.yaml:3:58: \"compare\" cannot be \"all\"\n  hint: write untouched"},
	{"pause", withRollout("pause: [1h]"), `site.yaml:2:10: "pause" cannot be a list` + pauseHint},
	{"numbers of a gate", withRollout("gate: [{check: {command: x}, count: 0, failure_limit: -1, error_limit: 1001}, {check: {command: y}, count: 2, failure_limit: 2}]"),
		"site.yaml:2:39: \"count\" must be from 1 to 1000, not 0\nsite.yaml:2:57: \"failure_limit\" must be from 0 to 1000, not -1\nsite.yaml:2:74: \"error_limit\" must be from 0 to 1000, not 1001\n" +
			"site.yaml:2:128: the gate would always pass: it makes 2 checks, and 2 of them may fail\n  hint: write a larger \"count\", or a smaller \"failure_limit\""},
	{"gates that are none", withRollout("gate: [x, {on: lb}, {check: [command]}]"),
		"site.yaml:2:10: \"gate\" must be a map, not the text \"x\"\n  hint: write gate: {check: {command: ...}}\nsite.yaml:2:13: the gate has no check\n  hint: write \"check\" under \"gate\", such as check: {command: /usr/lib/nagios/plugins/check_http -H web}\n" +
			"site.yaml:2:31: \"check\" must be a map, not a list\n  hint: write check: {command: /usr/lib/nagios/plugins/check_http -H web}"},
	{"a wrong check", withRollout("gate: {check: {comand: x, timeout: soon}}"),
		"site.yaml:2:18: unknown key \"comand\" in \"check\" (did you mean \"command\"?)"},
	{"a check of nothing", withRollout("gate: {check: {timeout: 5s}}"), "site.yaml:2:17: 'format' flag is required\n  hint: write command: PROGRAM ARGUMENT..., or \"goss_rules\""},
	{"two gates of one name", withRollout("gate: [{check: {command: check_a}}, {name: check_a, check: {command: x}}]"),
		"site.yaml:2:39: two gates are called \"check_a\"\n  hint: give it another name"},
	{"compare with a gate elsewhere", withRollout("gate: {check: {command: x}, on: lb, compare: untouched}"),
		"site.yaml:2:48: \"compare\" queries hosts of the rollout, but \"on\" is lb\n  hint: remove the key \"on\"; then the gate queries each host of the batch, and as many unchanged hosts for comparison"},
	{"drain without on", withRollout("drain: {before: [exec: [out: ], {block: [exec: [within: ]]}], after: [exec: [in: {on: lb, once: true}, {in2: {on: lb, tags: [x]}}]]}"),
		"site.yaml:2:27: exec#out has no key \"on\", but resources under \"drain\" must run on another host\n  hint: write on: HOST for a host of the inventory, or on: controller for this machine\n" +
			"site.yaml:2:51: exec#within has no key \"on\", but resources under \"drain\" must run on another host\n  hint: write on: HOST for a host of the inventory, or on: controller for this machine\n" +
			"site.yaml:2:80: each host is drained separately, so exec#in cannot run once for all hosts\n  hint: remove \"once\"\n" +
			"site.yaml:2:107: resources of \"drain\" cannot have \"tags\": they run for each host that is changed\n  hint: remove \"tags\""},
	{"drain of nothing", withRollout("drain: {before: [], after: {exec: x}}"),
		"site.yaml:2:19: \"before\" has no resources\n  hint: write a list: - exec: [...]\nsite.yaml:2:30: \"after\" must be a list of resources, not a map\n  hint: write a list: - exec: [...]"},
	{"drain by a manifest", withRollout("drain: {before: [apply: [lb.yaml: ]]}"), "site.yaml:2:28: unknown manifest lb.yaml\nsite.yaml:2:28: a manifest cannot be applied to drain a host\n  hint: write its resources here"},
	{"drain that refers to the play", withRollout("drain: {before: [exec: [out: {on: lb, require: ['exec#x']}]]}"),
		"site.yaml:2:51: no resource is called exec#x"},
	{"by without max_unavailable", withRollout("by: rack"), "site.yaml:2:7: \"by\" has no effect without \"max_unavailable\"\n  hint: write \"max_unavailable\" as well"},
	{"stop.gate without a gate", withRollout("stop: {gate: 1, per_batch: {gate: 2}}"),
		"site.yaml:2:16: \"stop.gate\" has no effect without a gate\n  hint: write \"gate\" as well\nsite.yaml:2:37: \"stop.gate\" has no effect without a gate\n  hint: write \"gate\" as well"},
	{"a soak that is too long", withRollout("soak: 10m", "host_deadline: 10m", "progress_deadline: 20m"),
		"site.yaml:2:9: no host could finish: \"soak\" is 10m0s, but \"host_deadline\" is 10m0s\n  hint: write a longer \"host_deadline\", or a shorter \"soak\""},
	{"a soak without progress", withRollout("soak: 10m", "progress_deadline: 5m"),
		"site.yaml:2:9: no host could finish in time: \"soak\" is 10m0s, but \"progress_deadline\" is 5m0s\n  hint: write a longer \"progress_deadline\", or a shorter \"soak\""},
	{"two ways", "serial: 1\nmax_fail_percentage: 5\nany_errors_fatal: true\nrollout: {}\n" + some,
		"site.yaml:1:1: \"serial\" cannot be used together with \"rollout\"\n  hint: write rollout: {batches: [...]}\n" +
			"site.yaml:2:1: \"max_fail_percentage\" cannot be used together with \"rollout\"\n  hint: write rollout: {stop: {per_batch: {failed: N%}}}; it stops at this percentage, not above it\n" +
			"site.yaml:3:1: \"any_errors_fatal\" cannot be used together with \"rollout\"\n  hint: remove \"any_errors_fatal\": a rollout stops at the first failed host, unless \"stop\" sets another limit"},
	{"a secret", "rollout: {by: !secret rack}\n" + some, "site.yaml:1:15: !secret is not allowed here" + secretHint},
}

func TestWrongRollouts(t *testing.T) {
	for _, c := range wrongRollouts {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.manifest)
			require.EqualError(t, err, c.want)
		})
	}
}

// TestIncludedRollouts has plays with and without the block included by others.
func TestIncludedRollouts(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"rolled.yaml": "data: {inner: 1}\nrollout: {batches: 1, drain: {before: [exec: [x: {on: lb}]]}}\n" + some,
		"serial.yaml": "serial: 1\nmax_fail_percentage: 5\nany_errors_fatal: true\n" + some,
		"middle.yaml": "include: rolled.yaml\nrollout: {batches: 3}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(".", name), []byte(text), 0o600))
	}
	batches := func(p *manifest.Play) rollout.Amount { return p.Rollout.Batches[0] }

	plays, err := parse("include: serial.yaml\nrollout: {batches: 2}\n")
	require.NoError(t, err)
	require.Equal(t, rollout.Amount{Count: 2}, batches(plays[0]))
	require.Nil(t, plays[0].Serial)
	require.Nil(t, plays[0].MaxFail)
	require.False(t, plays[0].AnyFatal)

	plays, err = parse("include: rolled.yaml\nhosts: web*\nbecome: true\ndata: {outer: 1}\n")
	require.NoError(t, err)
	require.Equal(t, rollout.Amount{Count: 1}, batches(plays[0]))
	before := plays[0].Rollout.Before
	require.Equal(t, "web*", before.Hosts.Text, "what is laid over the play is laid over its drain")
	require.True(t, *before.Become)
	require.Len(t, before.Over, 1)

	plays, err = parse("include: middle.yaml\nrollout: {batches: 4}\n")
	require.NoError(t, err)
	require.Equal(t, rollout.Amount{Count: 4}, batches(plays[0]), "the outermost")
	require.Nil(t, plays[0].Rollout.Before)

	_, err = parse("include: rolled.yaml\nserial: 1\n")
	require.EqualError(t, err, "site.yaml:2:1: \"serial\" cannot override the rollout of rolled.yaml:2:10\n  hint: write \"rollout\" in this play: it replaces the rollout of the included play")
}

// TestRolloutOfTheCommandLine replaces the plays' settings by a file.
func TestRolloutOfTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write("site.yaml", "- serial: 1\n  "+some+"- rollout: {batches: 1}\n  "+some+"- include: more.yaml\n  serial: 2\n  rollout: \n")
	write("more.yaml", "rollout: {batches: 9}\n"+some)
	read := func(text string, paths ...string) ([]*manifest.Play, error) {
		write("careful.yaml", text)
		return Files(context.Background(), paths, builtin.Types(), WithRollout("careful.yaml"))
	}
	plays, err := read("batches: [5, rest]\ndrain: {before: [exec: [x: {on: lb}]]}\n", "site.yaml", "more.yaml")
	require.NoError(t, err)
	require.Len(t, plays, 4)
	for _, p := range plays {
		require.Equal(t, []rollout.Amount{{Count: 5}, {Rest: true}}, p.Rollout.Batches)
		require.Nil(t, p.Serial)
		require.Equal(t, p.File, p.Rollout.Before.File)
	}
	for text, want := range map[string]string{
		"":                               "careful.yaml: the file is empty",
		"batches: 1\n---\nbatches: 2\n":  "careful.yaml:3:1: a file with a rollout is one document",
		"rollout: {batches: 1}\n":        "careful.yaml:1:1: the file must contain the keys of \"rollout\", not \"rollout\" itself\n  hint: remove the line rollout: and unindent the keys below it",
		"batchs: 1\nsoak: x\n":           "careful.yaml:1:1: unknown key \"batchs\" in \"rollout\" (did you mean \"batches\"?)\ncareful.yaml:2:7: rollout.soak: \"x\" is not a duration",
		"[1]":                            "careful.yaml:1:1: \"rollout\" must be a map, not a list\n  hint: write keys such as batches: [1, 10%, rest]",
		"by: !secret x\n":                "careful.yaml:1:5: !secret is not allowed here" + secretHint,
		"drain: {before: [exec: [x: ]]}": "careful.yaml:1:25: exec#x has no key \"on\", but resources under \"drain\" must run on another host\n  hint: write on: HOST for a host of the inventory, or on: controller for this machine",
	} {
		_, err := read(text, "more.yaml")
		require.EqualError(t, err, want)
	}
	_, err = Files(context.Background(), []string{"more.yaml"}, builtin.Types(), WithRollout("nope.yaml"))
	require.EqualError(t, err, "reading the rollout: open nope.yaml: no such file or directory")
}
