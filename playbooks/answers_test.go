package playbooks

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

type answerBreach struct {
	name   string
	to     Question
	answer Answer
	want   string
}

// valueOf returns an answer with a value.
func valueOf(v any) Answer {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Answer{Value: text}
}

// askedQuestions returns a good question of each kind.
func askedQuestions() map[string]Question {
	return map[string]Question{
		"known": Known{}, "here": Here{place: place{Index: 3}}, "joins": Joins{}, "exports": Exports{},
		"imports": Imports{Index: 2, Properties: []string{"content", "mode"}}, "claims": Claims{Index: 1, Semaphores: []string{"door:1"}},
		"release": Release{1}, "once": OnceNews{Has: map[string]bool{"x": true}}, "awaits": Awaits{"x"},
		"borrow": Borrow{place: place{Index: 4}, On: "web2"}, "return": Return{Borrow: Borrow{On: "web2"}},
		"lookup": Lookup{Key: []string{"b", "k"}}, "file": FilePart{Host: "web1"}, "ready": Ready{}, "step": StepPrompt{"?"},
		"other_facts": FactsOfOthers{}, "watched": Watched{},
	}
}

func waysTo(host string) *Lent {
	inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {"+host+": {}}}"))
	if err != nil {
		panic(err)
	}
	return &Lent{Inventory: inv.Part(inv.Hosts(), nil), Target: reach.WireTarget{Host: host, Address: "192.0.2.1", User: "root"}}
}

// answerBreaches returns answers that no coordinator sends.
func answerBreaches() []answerBreach {
	q := askedQuestions()
	long := strings.Repeat("x", 2<<20)
	odd, negative := &wire.Result{Status: "odd"}, &wire.Result{Index: -1, Status: wire.Failed}
	text := func(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }
	all := map[string]json.RawMessage{"content": text("a"), "mode": text("b")}
	deep, list := &yamlpos.Node{Kind: yamlpos.Map}, &yamlpos.Node{Kind: yamlpos.List}
	for range 100 {
		deep = &yamlpos.Node{Kind: yamlpos.Map, Pairs: []yamlpos.Pair{{Key: &yamlpos.Node{Text: "x"}, Value: deep}}}
	}
	registrations := Lookup{Registration: []string{"a", "b", "c", "d"}}
	local := waysTo("web2")
	local.Target.User = "x\nProxyCommand id"
	cases := []answerBreach{
		{"a long reason", q["known"], Answer{Error: long}, "a reason of 2097152 bytes"},
		{"a reason and a result", q["here"], Answer{Error: "x", Value: []byte("{}")}, "answered here: it sent an error, an end and a value at once"},
		{"an end and a host", q["borrow"], Answer{Over: true, Value: []byte("{}")}, "answered borrow: it sent an error, an end and a value at once"},
		{"an end and a reason", q["ready"], Answer{Over: true, Error: "x"}, "at once"},
		{"an odd status", q["here"], valueOf(odd), `the status "odd"`},
		{"a result of another entry", q["here"], valueOf(&wire.Result{Index: 3, Status: wire.Failed}), "the result of resource 3 of 1"},
		{"a long result", q["here"], valueOf(&wire.Result{Status: wire.Failed, Error: long}), "a result of 2097152 bytes"},
		{"no values", q["imports"], valueOf(nil), "no values for resource 2"},
		{"values of another entry", q["imports"], valueOf(&wire.Imported{Index: 1, Values: all}), "resource 1 in place of 2"},
		{"a value that the entry does not receive", q["imports"], valueOf(&wire.Imported{Index: 2, Values: map[string]json.RawMessage{"owner": text("root")}}), `"owner" of resource 2, which receives none`},
		{"too few values", q["imports"], valueOf(&wire.Imported{Index: 2, Values: map[string]json.RawMessage{"mode": text("a")}}), "1 of the 2 values"},
		{"a long value", q["imports"], valueOf(&wire.Imported{Index: 2, Values: map[string]json.RawMessage{"mode": text(strings.Repeat("x", maxAnswerImported-1))}}), "a value of 4194305 bytes"},
		{"values and an error", q["imports"], valueOf(&wire.Imported{Index: 2, Values: all, Error: "x"}), "together with an error"},
		{"a long error of values", q["imports"], valueOf(&wire.Imported{Index: 2, Error: long}), "a reason of 2097152 bytes"},
		{"a semaphore of another entry", q["claims"], valueOf(&share.MayHoldError{Semaphore: "other"}), `"other", which resource 1 does not claim`},
		{"a long holder", q["claims"], valueOf(&share.MayHoldError{Semaphore: "door", What: long}), "the holder of a semaphore of"},
		{"an odd result of what runs once", q["awaits"], valueOf(Awaited{On: "web2", Result: odd}), `the status "odd"`},
		{"a result of what runs once below zero", q["awaits"], valueOf(Awaited{On: "web2", Result: negative}), "named resource -1"},
		{"a host without a result", q["awaits"], valueOf(Awaited{On: "web2"}), `the host "web2"`},
		{"a long host", q["awaits"], valueOf(Awaited{On: long, Result: &wire.Result{Status: wire.Failed}}), "a host of 2097152 bytes"},
		{"an odd result of a host to be lent", q["borrow"], valueOf(Loan{Result: odd}), `the status "odd"`},
		{"a result and a host", q["borrow"], valueOf(Loan{Result: &wire.Result{}, Lent: waysTo("web2")}), "although the result is known"},
		{"no host", q["borrow"], valueOf(Loan{}), `lent "web2" without a way`},
		{"the way to another host", q["borrow"], valueOf(Loan{Lent: waysTo("web3")}), `the way to "web3"`},
		{"a way with a command", q["borrow"], valueOf(Loan{Lent: local}), "is not a name"},
		{"a long certificate", q["borrow"], valueOf(Loan{Lent: &Lent{Target: waysTo("web2").Target, Certificate: []byte(long)}}), "a certificate of 2097152 bytes"},
		{"a host with the inventory of another", q["borrow"], valueOf(Loan{Lent: &Lent{Inventory: waysTo("web3").Inventory, Target: waysTo("web2").Target}}), "the inventory of other hosts"},
		{"a forecast without a host", q["borrow"], valueOf(Loan{Predicted: true}), "without a way"},
		{"a forecast and a result", q["borrow"], valueOf(Loan{Predicted: true, Result: &wire.Result{}}), "although the result is known"},
		{"nothing for a look-up", q["lookup"], Answer{}, "is not readable"},
		{"registrations in place of a value", q["lookup"], valueOf(Looked{Registered: yamlpos.Portable{Node: list}}), "registrations in place of a value"},
		{"a value in place of registrations", registrations, valueOf(Looked{Value: []byte("x")}), "a value in place of registrations"},
		{"registrations that are a map", registrations, valueOf(Looked{Registered: yamlpos.Portable{Node: deep}}), "not a list"},
		{"no facts", q["other_facts"], Answer{}, "is not readable"},
		{"facts that are null", q["other_facts"], valueOf(OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {}}}), "they are not a map"},
		{"facts that are a list", q["other_facts"], valueOf(OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {Node: list}}}), "they are not a map"},
		{"deep facts", q["other_facts"], valueOf(OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {Node: deep}}}), "64 levels"},
		{"a long reason for unknown facts", q["other_facts"], valueOf(OtherFacts{Unknown: map[string]string{"web2": long}}), "a reason of 2097152 bytes"},
	}
	for kind, question := range q { // values of another type, and none
		cases = append(cases, answerBreach{"more fields for " + kind, question, Answer{Value: []byte(`{"catalog":1}`)}, "answered " + kind + ": it "})
		if _, of, _ := kindOf(questionKinds, question); of.fits(question, nil) != nil {
			cases = append(cases, answerBreach{"no value for " + kind, question, Answer{}, "is not readable"})
		} else {
			cases = append(cases, answerBreach{"a value for " + kind, question, Answer{Value: []byte("{}")}, "answered " + kind + ": it answered with a value, which the worker did not request"})
		}
	}
	return cases
}

// TestAnswerBreaches checks answers that no coordinator sends.
func TestAnswerBreaches(t *testing.T) {
	for _, b := range answerBreaches() {
		err := CheckAnswer(b.to, &b.answer)
		require.ErrorContains(t, err, b.want, b.name)
		require.IsType(t, &BreachError{}, err)
	}
	for kind, q := range askedQuestions() {
		for _, answer := range []Answer{{Error: "x"}, {Over: true}} {
			require.NoError(t, CheckAnswer(q, &answer), kind)
		}
	}
}

// FuzzAnswer answers each question with anything: the answer is refused, or the worker takes it.
func FuzzAnswer(f *testing.F) {
	for _, b := range answerBreaches() {
		if text, err := json.Marshal(b.answer); err == nil && len(text) < 1<<16 {
			f.Add(text)
		}
	}
	for _, text := range []string{
		`{}`, `{"over":true}`, `{"value":{"i":2,"values":{"content":"a","mode":"b"}}}`, `{"value":{"on":"web2","result":{"status":"changed"}}}`,
		`{"value":{"lent":{"inventory":{"hosts":[{"name":"web2","groups":["all"]}],"groups":[{"name":"all"}]},"target":{"host":"web2","address":"192.0.2.1","user":"x"}}}}`,
		`{"value":{"registered":{"k":1,"i":[null]}}}`, `{"value":{"facts":{"web2":{"k":2,"p":[null,null]}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for kind, q := range askedQuestions() {
			var a Answer
			if json.Unmarshal(text, &a) == nil && CheckAnswer(q, &a) == nil {
				taken(t, kind, a)
			}
		}
		registrations := Lookup{Registration: []string{"a", "b", "c", "d"}}
		var a Answer
		if json.Unmarshal(text, &a) == nil && CheckAnswer(registrations, &a) == nil {
			n := &askedNATS{always(a), "web1", &sync.Map{}}
			_, _ = n.Registrations(t.Context(), "a", "b", "c", "d")
		}
	})
}

// A fakeController answers all questions with a function.
type fakeController func(q Question) Answer

func (f fakeController) Answer(_ context.Context, _ string, q Question) (Answer, error) {
	return f(q), nil
}

func (fakeController) Waiting() {}

func (fakeController) Reach(_ context.Context, lent *Lent) (transport.Target, error) {
	return lent.Target.Target()
}

func (fakeController) Orders(string) <-chan WatchOrder { return nil }

func always(a Answer) Controller { return fakeController(func(Question) Answer { return a }) }

// taken has a worker take an answer to a question of a kind.
func taken(t *testing.T, kind string, a Answer) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asks := &asking{Controller: always(a), waiting: func() {}}
	defer asks.telling.Wait()
	switch kind {
	case "here":
		_, _ = asks.here(ctx, "web1", place{Index: 3}, &catalog.Compiled{Catalog: wire.Catalog{Entries: make([]wire.Entry, 1)}})
	case "imports":
		e := &askedExchange{asking: asks, ctx: ctx, host: "web1", sensitive: map[int]bool{}}
		require.NotNil(t, e.Import(ctx, 2))
	case "claims":
		asks.claims(ctx, "web1", Claims{Index: 1, Semaphores: []string{"door:1"}}).Release()
	case "awaits":
		_, _, _ = (&askedOnce{asking: asks, ctx: ctx}).Await(ctx, "web1", "x")
	case "borrow":
		_, done, _, err := asks.borrow(ctx, "web1", Borrow{place: place{Index: 4}, On: "web2"})
		if err == nil && done != nil {
			done(nil)
		}
	case "lookup":
		_, _ = (&askedNATS{always(a), "web1", &sync.Map{}}).Value(ctx, "b", "k")
	case "file":
		file := &passedFile{asks, ctx, "web1", FilePart{}}
		_, _ = io.WriteString(file, "x")
		_ = file.Keep()
	case "step":
		asks.stepper().there(ctx, "web1", "?")
	case "other_facts":
		s := &selection{values: &inventoryValues{}, play: &manifest.Play{HostFacts: []*yamlpos.Node{{}}}}
		_ = (&Runner{Controller: always(a)}).askOtherFacts(ctx, s, "web1")
	}
}
