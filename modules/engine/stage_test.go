package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/enginetest"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A stagedPlay has a file and a command, and later entries made of the command's result.
type stagedPlay struct {
	t       *testing.T
	dir     string
	journal *mortalJournal
	engine  *engine.Engine
}

func newStagedPlay(t *testing.T) *stagedPlay {
	p := &stagedPlay{t: t, dir: t.TempDir(), journal: &mortalJournal{m: &mortal{}}}
	p.restart()
	return p
}

// restart continues in another host program.
func (p *stagedPlay) restart() {
	p.engine = enginetest.New()
	p.engine.Refreshes = p.journal
}

func (p *stagedPlay) run(cat wire.Catalog) []wire.Result {
	p.t.Helper()
	cat.Lock = &wire.Lock{Run: "r1"}
	results, stopped := enginetest.Run(p.t, p.engine, p.dir, enginetest.In(p.dir, cat))
	require.False(p.t, stopped)
	return results
}

// log returns the words that the commands of the play have written.
func (p *stagedPlay) log() string {
	text, err := os.ReadFile(p.dir + "/log")
	if !os.IsNotExist(err) {
		require.NoError(p.t, err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// says returns a command that logs a word.
func says(word, rest string) wire.Entry {
	e := command("echo "+word+" >> $/log", rest)
	e.Name = word
	return e
}

// begin returns the entries of the first stage, and the known part of a third one, which subscribes to the first.
func begin() []wire.Entry {
	return []wire.Entry{
		file("$/conf", `"mode":"0600","content":"x"`),
		says("asked", ""),
		{Type: "exec", Name: "reload", Subscribe: []int{0}, Awaits: []int{1}},
	}
}

var reload = enginetest.With(says("reload", `"refreshonly":true`), func(e *wire.Entry) { e.Subscribe = []int{0} })

func TestStages(t *testing.T) {
	p := newStagedPlay(t)
	require.Equal(t, "changed changed", brief(p.run(wire.Catalog{Until: 2, Fixed: 2, Entries: begin()})))
	require.Contains(t, string(p.journal.text), "exec#reload", "it is owed from the moment the file has changed")
	results := p.run(wire.Catalog{From: 2, Fixed: 2, Entries: append(begin()[:2], reload)})
	require.Equal(t, "changed*", brief(results), "what has had its turn is not told again")
	require.Equal(t, 2, results[0].Index)
	require.Equal(t, []string{"file#$/conf"}, results[0].RefreshedBy)
	require.NotContains(t, results[0].Message, "which did not get to it")
	require.Equal(t, "asked reload", p.log())
	require.Empty(t, p.journal.text)
}

func TestStageWhoseSubscriberIsExcluded(t *testing.T) {
	p := newStagedPlay(t)
	p.run(wire.Catalog{Until: 2, Fixed: 2, Entries: begin()})
	results := p.run(wire.Catalog{From: 2, Fixed: 2, Entries: append(begin()[:2], wire.Entry{Type: "exec", Name: "reload", Excluded: true})})
	require.Equal(t, "skipped", brief(results))
	require.Empty(t, p.journal.text, "nothing is owed to what is not managed")
}

// TestStageThatNeverComes ends a run between two stages: the next run makes the due refreshes.
func TestStageThatNeverComes(t *testing.T) {
	p := newStagedPlay(t)
	p.run(wire.Catalog{Until: 2, Fixed: 2, Entries: begin()})
	p.restart()
	require.Equal(t, "stable changed", brief(p.run(wire.Catalog{Until: 2, Fixed: 2, Entries: begin()})))
	results := p.run(wire.Catalog{From: 2, Fixed: 2, Entries: append(begin()[:2], reload)})
	require.Equal(t, "changed*", brief(results))
	require.Equal(t, "asked asked reload", p.log())
	require.Empty(t, p.journal.text)
}

// TestStageAfterALostConnection continues in another host program with the records of the first.
func TestStageAfterALostConnection(t *testing.T) {
	p := newStagedPlay(t)
	finished := map[int]*notes.Finished{}
	p.engine.Keep = func(f *notes.Finished) error {
		finished[f.Result.Index] = f
		return nil
	}
	p.run(wire.Catalog{Until: 2, Fixed: 2, Entries: begin()})
	p.restart()
	p.engine.Finished = finished
	require.Equal(t, "changed*", brief(p.run(wire.Catalog{Fixed: 2, Entries: append(begin()[:2], reload)})))
	require.Equal(t, "asked reload", p.log())
	require.Empty(t, p.journal.text)
}

// TestStagesOfACheckRun: the output of a command is unknown, as are entries made of it.
func TestStagesOfACheckRun(t *testing.T) {
	p := newStagedPlay(t)
	require.Equal(t, "changed changed?", brief(p.run(wire.Catalog{Check: true, Until: 2, Fixed: 2, Entries: begin()})))
	last := file("$/last", `"mode":"0600","content":"x"`)
	results := p.run(wire.Catalog{Check: true, From: 2, Fixed: 2, Entries: append(begin(), last)})
	require.Equal(t, "changed? changed?", brief(results))
	require.Equal(t, "depends on the result of exec#asked, which a check run does not know", results[0].Message)
	require.Equal(t, "exec#asked", results[0].Because)
	require.Equal(t, "exec#asked", results[1].Because, "it may do anything")
	require.Empty(t, p.log())

	// Where only that command is predicted, what depends on it cannot be carried out.
	noop := enginetest.With(says("asked", ""), func(e *wire.Entry) { e.Check = true })
	results = p.run(wire.Catalog{Entries: []wire.Entry{noop, {Type: "exec", Name: "b", Awaits: []int{0}}}})
	require.Equal(t, "changed? failed", brief(results))
	require.Equal(t, "depends on the result of exec#asked, which a check run can only predict", results[1].Error)
}

// TestStageWithinANestedManifest ends a stage in the midst of one, which sums up all of it.
func TestStageWithinANestedManifest(t *testing.T) {
	for _, failOnError := range []bool{false, true} {
		p := newStagedPlay(t)
		first := command("echo first >> $/log; exit 3", "")
		scope := wire.Entry{Type: "apply", Name: "m", Scope: &wire.Scope{Entries: 2, FailOnError: failOnError}}
		require.Equal(t, "failed", brief(p.run(wire.Catalog{Until: 1, Fixed: 1, Entries: []wire.Entry{first, {Type: "exec", Name: "b", Awaits: []int{0}}, scope}})))
		results := p.run(wire.Catalog{From: 1, Fixed: 1, Entries: []wire.Entry{first, says("second", ""), scope}})
		require.Equal(t, map[bool]string{false: "changed failed", true: "skipped failed"}[failOnError], brief(results))
		require.Equal(t, "child manifest had 1 failed resources", results[1].Error)
	}
}

// TestStageOfAPlayThatEnds reports all later stages when a failure ends the play.
func TestStageOfAPlayThatEnds(t *testing.T) {
	p := newStagedPlay(t)
	results := p.run(wire.Catalog{FailOnError: true, Until: 1, Fixed: 1, Entries: []wire.Entry{command("false", ""), {Type: "exec", Name: "b", Awaits: []int{0}}}})
	require.Equal(t, "failed skipped", brief(results))
}

func TestStageWithoutTheOneBefore(t *testing.T) {
	cat := wire.Catalog{From: 1, Entries: []wire.Entry{command("true", "")}}
	_, err := enginetest.New().Run(t.Context(), &cat, func(*wire.Result) error { return nil })
	require.EqualError(t, err, "a stage begins after 1 entries, but 0 are finished")
}

// TestCommandThatOnlyLooks runs in a check run, too. Its output is uncertain where a pending change may affect it.
func TestCommandThatOnlyLooks(t *testing.T) {
	p := newStagedPlay(t)
	look := command("echo seen", `"readonly":true`)
	for _, check := range []bool{true, false} {
		results := p.run(wire.Catalog{Check: check, Entries: []wire.Entry{look}})
		require.Equal(t, "stable", brief(results))
		require.Equal(t, "seen\n", results[0].Exit.Stdout.Text)
	}
	require.Equal(t, "changed stable?", brief(p.run(wire.Catalog{Check: true, Entries: []wire.Entry{file("$/conf", `"mode":"0600","content":"x"`), look}})))
	results := p.run(wire.Catalog{Entries: []wire.Entry{command("exit 3", `"readonly":true`)}})
	require.Equal(t, "failed", brief(results))
	require.Equal(t, "exit code 3 not in allowed returns [0]", results[0].Error)
	require.Equal(t, 3, results[0].Exit.Code)
	subscribed := enginetest.With(look, func(e *wire.Entry) { e.Subscribe = []int{0} })
	require.Equal(t, "changed stable", brief(p.run(wire.Catalog{Entries: []wire.Entry{says("a", ""), subscribed}})), "it has looked already")
}
