package workers

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A badCoordinator hands out what a test has changed.
type badCoordinator struct {
	queue.Queue
	t     *testing.T
	of    *Coordinator
	run   func(*runContent)
	shard func(*shardContent)
	// answers replaces the answer to a host's request; nil keeps it
	answers func(q playbooks.Question, a playbooks.Answer) any
}

func (b *badCoordinator) Open(ctx context.Context, name string) (queue.Run, error) {
	run, err := b.Queue.Open(ctx, name)
	return &badRun{run, b}, err
}

type badRun struct {
	queue.Run
	*badCoordinator
}

func (b *badRun) Answer(ctx context.Context, answer func(context.Context, []byte) []byte) error {
	return b.Run.Answer(ctx, func(ctx context.Context, text []byte) []byte {
		out := answer(ctx, text)
		if text[0] == asks {
			if b.answers != nil && len(out) > 0 {
				return b.answered(text, out)
			}
			return out
		}
		return b.changed(ctx, text, out)
	})
}

// answered changes the answer to a question of a host.
func (b *badCoordinator) answered(text, out []byte) []byte {
	var of sealing.HandoutID
	copy(of[:], text[1:])
	sealer, err := sealing.NewSealer(b.of.run.post.keyOf(of), of)
	require.NoError(b.t, err)
	text, err = sealer.Open(sealing.ToCoordinator, text[1+sealing.HandoutSize:])
	require.NoError(b.t, err)
	var q asked
	require.NoError(b.t, json.Unmarshal(text, &q))
	text, err = sealer.Open(sealing.ToWorker, out)
	require.NoError(b.t, err)
	var a answered
	require.NoError(b.t, json.Unmarshal(text, &a))
	question, err := playbooks.DecodeQuestion(q.Text)
	if a.Later || a.Over || err != nil {
		return out
	}
	changed := b.answers(question, a.Answer)
	if changed == nil {
		return out
	}
	out, err = sealer.Seal(sealing.ToWorker, map[string]any{"answer": changed})
	require.NoError(b.t, err)
	return out
}

// changed changes what an answer about a ticket hands out.
func (b *badCoordinator) changed(ctx context.Context, text, out []byte) []byte {
	c := b.of
	var q question
	var a answer
	_, err := keyring.Verify(c.Workers.Ring(), questionKind, text, &q)
	require.NoError(b.t, err)
	_, err = keyring.Verify(keyring.Keyring{string(c.Key.PublicKey().Marshal()): {Name: "it"}}, answerKind, out, &a)
	require.NoError(b.t, err)
	if a.Shard == nil {
		return out
	}
	put := func(v any) *object {
		sealed, err := sealing.SealJSON(q.Recipient, v)
		require.NoError(b.t, err)
		o, err := c.run.post.upload(ctx, sealed)
		require.NoError(b.t, err)
		return o
	}
	if a.Run != nil && b.run != nil {
		content, err := c.run.parcels.content()
		require.NoError(b.t, err)
		b.run(content)
		a.Run = put(content)
	}
	c.run.ledger.mu.Lock()
	h := c.run.ledger.shards[q.Ticket.Shard].current
	c.run.ledger.mu.Unlock()
	if b.shard != nil && h != nil {
		var turns []playbooks.Turn
		for _, t := range h.shard.turns {
			turns = append(turns, t.Turn)
		}
		content, _, err := c.run.dispatcher.shardContent(ctx, q, turns)
		require.NoError(b.t, err)
		b.shard(content)
		reader, err := sealing.NewFrameReader(content.Key)
		require.NoError(b.t, err)
		sealer, err := sealing.NewSealer(content.Key, content.Handout)
		require.NoError(b.t, err)
		c.run.ledger.mu.Lock()
		h.reader, h.asks.sealer, c.run.ledger.assigned[content.Handout] = reader, sealer, h
		c.run.ledger.mu.Unlock()
		a.Shard = put(content)
	}
	out, err = keyring.Sign(c.Key, answerKind, a)
	require.NoError(b.t, err)
	return out
}

// packed is an archive of files and links as a coordinator sends it.
func packed(t *testing.T, entries ...tar.Header) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, e := range entries {
		text := e.Uname
		e.Uname, e.Mode, e.Size = "", 0o600, int64(len(text))
		require.NoError(t, w.WriteHeader(&e))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func regular(name, text string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: text}
}
func linked(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}

// TestBadCoordinators has a coordinator with a valid key try to run a command on a worker, or to read its files. The
// host fails with the reason of the worker's refusal.
func TestBadCoordinators(t *testing.T) {
	const command = "ccm: {resources: [exec: [{'sh -c \"id > $DIR/PWNED\"': {}}]]}\n"
	const reads = "ccm: {resources: [file: [{\"{{ Data.home }}/got\": {content: \"$READ\", owner: \"$ID\", group: \"$ID\", mode: \"0600\"}}]]}\n"
	all := []struct {
		name, manifest string
		run            func(s *site, r *runContent)
		shard          func(s *site, c *shardContent)
		want           string
	}{
		{"an inventory with a local host, and no way to it", command, nil, func(s *site, c *shardContent) {
			c.Inventory = localInventory(s.t, "web1")
			c.Targets = map[string]reach.WireTarget{}
		}, "the coordinator has not sent how web1 is reached"},
		{"a local host with a way", command, nil, func(s *site, c *shardContent) { c.Inventory = localInventory(s.t, "web1") }, ""},
		{"no address", command, nil, func(s *site, c *shardContent) { c.Targets["web1"] = reach.WireTarget{Host: "web1", User: "x"} },
			"the name, the address or the user is missing"},
		{"a user of two lines", command, nil, func(s *site, c *shardContent) {
			one := c.Targets["web1"]
			one.User = "x\nProxyCommand id"
			c.Targets["web1"] = one
		}, "is not a name"},
		{"jump hosts of jump hosts", command, nil, func(s *site, c *shardContent) {
			one := c.Targets["web1"]
			one.Jump = []reach.WireTarget{{Host: "j", Address: "192.0.2.1", User: "x", Jump: []reach.WireTarget{one}}}
			c.Targets["web1"] = one
		}, "a jump host has jump hosts of its own"},
		{"the folder of the run", command, func(_ *site, r *runContent) { r.Recipe.Folder = "../.." }, nil,
			`broke the protocol of this run: it sent the folder of the run, "../..", is not an absolute path`},
		{"a turn of no play", command, nil, func(_ *site, c *shardContent) { c.Turns[0].Play = -1 },
			"broke the protocol of this run: it sent gate 0 of play -1 of"},
		{"an inventory without a group", command, nil, func(_ *site, c *shardContent) { c.Inventory.Groups = nil }, `does not have its group "all"`},
		{"vars_files of the worker", "vars_files: [$SECRETS]\n" + reads, func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil, "no such"},
		{"vars_files that lead out", "vars_files: [../../../../../../../../../../../../../../../..$SECRETS]\n" + reads, func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil,
			"is outside the files that the coordinator sent"},
		{"an included play that leads out", "- include: ../../../../../../../../../../../../../../../..$SECRETS\n", func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil,
			"is outside the files that the coordinator sent"},
		{"a nested manifest that leads out", "ccm: {resources: [apply: [{../../../../../../../../../../../../../../../..$SECRETS: {}}]]}\n", func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil,
			"is outside the files that the coordinator sent"},
		{"the source of a file", strings.ReplaceAll(reads, `content: "$READ"`, `source: "$SECRETS"`), func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil, "secrets.yaml"},
		{"a template of the worker", strings.ReplaceAll(reads, "$READ", "{{ template('$SECRETS') }}"), func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil, "secrets.yaml"},
		{"a template that includes a file of the worker", strings.ReplaceAll(reads, "$READ", "{{ jet('t.jet') }}"), func(s *site, r *runContent) {
			r.Files = s.packedPlay(regular(s.dir[1:]+"/t.jet", "[[ include \""+s.dir+"/secrets.yaml\" ]]"))
		}, nil, "secrets.yaml"},
		{"a folder of the worker", "ccm: {resources: [scaffold: [{'{{ Data.home }}/copied': {source: $DIR/secrets, engine: jet}}]]}\n", func(s *site, r *runContent) { r.Files = s.packedPlay() }, nil, "secrets"},
		{"a hard link to a file of the worker", strings.ReplaceAll(reads, "$READ", "{{ file('out') }}"), func(s *site, r *runContent) {
			r.Files = s.packedPlay(tar.Header{Typeflag: tar.TypeLink, Name: s.dir[1:] + "/out", Linkname: s.dir + "/secrets.yaml"})
		}, nil, "out"},
		{"a link to a file of the worker", strings.ReplaceAll(reads, "$READ", "{{ file('out') }}"), func(s *site, r *runContent) {
			r.Files = s.packedPlay(linked(s.dir[1:]+"/out", s.dir+"/secrets.yaml"))
		}, nil, "out"},
		{"vars_files through a link", "vars_files: [out]\n" + reads, func(s *site, r *runContent) {
			r.Files = s.packedPlay(linked(s.dir[1:]+"/out", s.dir+"/secrets.yaml"))
		}, nil, "no such"},
		{"vars_files through links that lead out together", "vars_files: [out]\n" + reads, func(s *site, r *runContent) {
			up := strings.Repeat("../", strings.Count(s.dir, "/"))
			r.Files = s.packedPlay(linked(s.dir[1:]+"/top", up), linked(s.dir[1:]+"/out", "top/"+strings.Repeat("../", 20)+s.dir[1:]+"/secrets.yaml"))
		}, nil, "no such"},
	}
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) {
			s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1")
			s.write("secrets.yaml", "canary: canary-of-the-worker\n")
			s.write("secrets/file", "canary-of-the-worker\n")
			q := queuetest.New(0)
			said := s.work(q, "worker", "")
			got := &recorded{}
			c, warned := s.coordinator(nil, s.runner(s.inventory(nil), got))
			s.write("site.yaml", strings.NewReplacer("$DIR", s.dir, "$SECRETS", s.dir+"/secrets.yaml", "$READ", "{{ Data.canary }}", "$ID", fmt.Sprint(os.Getuid())).Replace(one.manifest))
			bad := &badCoordinator{Queue: q, t: t, of: c}
			if one.run != nil {
				bad.run = func(r *runContent) { one.run(s, r) }
			}
			if one.shard != nil {
				bad.shard = func(content *shardContent) { one.shard(s, content) }
			}
			c.Queue, c.Runner.Workers = bad, entered{c}
			summary := s.run(c)
			text := strings.ReplaceAll(strings.Join(got.lines(s), "\n"), `\"`, `"`) + warned.all()
			text += said.all()
			require.NotContains(t, text, "canary-of-the-worker")
			canary, err := os.ReadFile(filepath.Join(s.hosts["web1"].Home, "got"))
			require.True(t, err != nil || !bytes.Contains(canary, []byte("canary-of-the-worker")), "%s", canary)
			pwned, err := os.ReadFile(filepath.Join(s.dir, "PWNED"))
			if one.want != "" {
				require.ErrorIs(t, err, os.ErrNotExist, "%s", pwned)
				require.Equal(t, 1, summary.Totals.Hosts.Failed+summary.Totals.Hosts.Unreachable, text)
				require.Contains(t, text, one.want)
				return
			}
			require.EqualValues(t, 1, s.hosts["web1"].Stats().Connections, "it is reached by SSH")
		})
	}
}

// packedPlay packs the manifest, and more.
func (s *site) packedPlay(more ...tar.Header) []byte {
	text, err := os.ReadFile(filepath.Join(s.dir, "site.yaml"))
	require.NoError(s.t, err)
	return packed(s.t, slices.Concat([]tar.Header{regular(s.dir[1:]+"/site.yaml", string(text))}, more)...)
}

func localInventory(t *testing.T, name string) inventory.Part {
	inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {"+name+": {ansible_connection: local}}}"))
	require.NoError(t, err)
	return inv.Part(inv.Hosts(), nil)
}

// answerTo returns an answer to questions of one type, and nil for others.
func answerTo[Q any](q playbooks.Question, answer any) any {
	if _, is := q.(Q); !is {
		return nil
	}
	return answer
}

// TestBadAnswers has a coordinator with a valid key send answers without a request. The worker runs nothing more, and
// reports the fault to the coordinator.
func TestBadAnswers(t *testing.T) {
	const manifest = `
name: one
hosts: web1
ccm:
  resources:
    - exec: ["true": {once: true}]
    - exec: ["true": {sema: ["door:1"]}]
    - exec: ["true": {on: db1}]
    - exec: ["touch $DIR/PWNED": {}]
`
	loan, err := json.Marshal(playbooks.Loan{Lent: &playbooks.Lent{Target: reach.WireTarget{Host: "db1", Address: "192.0.2.1", User: "x"}}})
	require.NoError(t, err)
	for _, one := range []struct {
		name    string
		answers func(q playbooks.Question, a playbooks.Answer) any
		want    string
	}{
		{"a host for a question about a semaphore", func(q playbooks.Question, _ playbooks.Answer) any {
			return answerTo[playbooks.Claims](q, playbooks.Answer{Value: loan})
		}, `it answered claims: it sent data that is not readable: json: unknown field "lent"`},
		{"a host for news", func(q playbooks.Question, _ playbooks.Answer) any {
			return answerTo[playbooks.OnceNews](q, playbooks.Answer{Value: loan})
		}, "it answered once: it answered with a value, which the worker did not request"},
		{"an odd status", func(q playbooks.Question, _ playbooks.Answer) any {
			return answerTo[playbooks.Awaits](q, playbooks.Answer{Value: json.RawMessage(`{"on":"web2","result":{"status":"odd"}}`)})
		}, `the status "odd"`},
		{"the way to another host", func(q playbooks.Question, a playbooks.Answer) any {
			a.Value = bytes.ReplaceAll(a.Value, []byte(`"host":"db1"`), []byte(`"host":"web1"`))
			return answerTo[playbooks.Borrow](q, a)
		}, `it sent the way to "web1" in place of "db1"`},
		{"a field that no build has", func(q playbooks.Question, _ playbooks.Answer) any {
			return answerTo[playbooks.Claims](q, map[string]any{"catalog": 1})
		}, `unknown field "catalog"`},
		{"what is no answer", func(q playbooks.Question, _ playbooks.Answer) any { return answerTo[playbooks.Claims](q, 1) }, "is not readable"},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := newSite(t, "", "web1", "db1")
			s.write("site.yaml", strings.ReplaceAll(manifest, "$DIR", s.dir))
			q := queuetest.New(0)
			said := s.work(q, "worker", "")
			got := &recorded{}
			c, warned := s.coordinator(nil, s.runner(s.inventory(nil), got))
			c.Queue, c.Runner.Workers = &badCoordinator{Queue: q, t: t, of: c, answers: one.answers}, entered{c}
			began := time.Now()
			summary := s.run(c)
			text := strings.ReplaceAll(strings.Join(got.lines(s), "\n"), `\"`, `"`) + warned.all()
			require.Less(t, time.Since(began), 15*time.Second, "the coordinator takes the worker for lost")
			require.Equal(t, 1, summary.Totals.Hosts.Failed, text)
			require.Contains(t, text, "the coordinator broke the protocol of this run: ")
			require.Contains(t, text, one.want)
			require.Contains(t, said.all(), one.want, "the worker says it too")
			require.NoFileExists(t, filepath.Join(s.dir, "PWNED"))
		})
	}
}
