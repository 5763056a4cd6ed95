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
)

type answerBreach struct {
	name   string
	field  string // of Answer
	to     Question
	answer Answer
	want   string
}

// askedQuestions returns a good question of each kind.
func askedQuestions() map[string]Question {
	return map[string]Question{
		"Known": {Known: &Known{}}, "Here": {Here: &Here{place: place{Index: 3}}}, "Joins": {Joins: &Joins{}}, "Exports": {Exports: &Exports{}},
		"Imports": {Imports: &Imports{Index: 2, Properties: []string{"content", "mode"}}}, "Claims": {Claims: &Claims{Index: 1, Semaphores: []string{"door:1"}}},
		"Release": {Release: number(1)}, "Once": {Once: &OnceNews{Has: map[string]bool{"x": true}}}, "Awaits": {Awaits: "x"},
		"Borrow": {Borrow: &Borrow{place{Index: 4}, "web2"}}, "Return": {Return: &Return{Borrow: Borrow{On: "web2"}}},
		"Lookup": {Lookup: &Lookup{Key: []string{"b", "k"}}}, "File": {File: &FilePart{Host: "web1"}}, "Ready": {Ready: true}, "Step": {Step: "?"},
		"OtherFacts": {OtherFacts: number(0)}, "Watched": {Watched: &WatchNews{}},
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
	registrations := Question{Lookup: &Lookup{Registration: []string{"a", "b", "c", "d"}}}
	local := waysTo("web2")
	local.Target.User = "x\nProxyCommand id"
	cases := []answerBreach{
		{"a long reason", "Error", q["Known"], Answer{Error: long}, "a reason of 2097152 bytes"},
		{"a reason and a result", "Error", q["Here"], Answer{Error: "x", Result: &wire.Result{}}, "answered Here with Error and Result at once"},
		{"an end and a host", "Over", q["Borrow"], Answer{Over: true, Lend: "web2", Lent: waysTo("web2")}, "answered Borrow with Over and Lend at once"},
		{"an odd status", "Result", q["Here"], Answer{Result: odd}, `the status "odd"`},
		{"a result of another entry", "Result", q["Here"], Answer{Result: &wire.Result{Index: 3, Status: wire.Failed}}, "the result of resource 3 of 1"},
		{"a long result", "Result", q["Here"], Answer{Result: &wire.Result{Status: wire.Failed, Error: long}}, "a result of 2097152 bytes"},
		{"no values", "Imported", q["Imports"], Answer{}, "no values for resource 2"},
		{"values of another entry", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 1, Values: all}}, "resource 1 in place of 2"},
		{"a value that the entry does not receive", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 2, Values: map[string]json.RawMessage{"owner": text("root")}}}, `"owner" of resource 2, which receives none`},
		{"too few values", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 2, Values: map[string]json.RawMessage{"mode": text("a")}}}, "1 of the 2 values"},
		{"a long value", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 2, Values: map[string]json.RawMessage{"mode": json.RawMessage(strings.Repeat(" ", maxAnswerImported) + "1")}}}, "a value of 4194305 bytes"},
		{"values and an error", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 2, Values: all, Error: "x"}}, "together with an error"},
		{"a long error of values", "Imported", q["Imports"], Answer{Imported: &wire.Imported{Index: 2, Error: long}}, "a reason of 2097152 bytes"},
		{"a semaphore of another entry", "MayHold", q["Claims"], Answer{MayHold: &share.MayHoldError{Semaphore: "other"}}, `"other", which resource 1 does not claim`},
		{"a long holder", "MayHold", q["Claims"], Answer{MayHold: &share.MayHoldError{Semaphore: "door", What: long}}, "the holder of a semaphore of"},
		{"an odd result of what runs once", "Result", q["Awaits"], Answer{On: "web2", Result: odd}, `the status "odd"`},
		{"a result of what runs once below zero", "Result", q["Awaits"], Answer{On: "web2", Result: negative}, "named resource -1"},
		{"a host without a result", "On", q["Awaits"], Answer{On: "web2"}, `the host "web2"`},
		{"a long host", "On", q["Awaits"], Answer{On: long, Result: &wire.Result{Status: wire.Failed}}, "a host of 2097152 bytes"},
		{"an odd result of a host to be lent", "Result", q["Borrow"], Answer{Result: odd}, `the status "odd"`},
		{"a result and a host", "Result", q["Borrow"], Answer{Result: &wire.Result{}, Lend: "web2", Lent: waysTo("web2")}, "although the result is known"},
		{"another host", "Lend", q["Borrow"], Answer{Lend: "web3", Lent: waysTo("web3")}, `lent "web3" in place of "web2"`},
		{"no host", "Lend", q["Borrow"], Answer{}, `lent "" in place of "web2"`},
		{"a host without a way", "Lent", q["Borrow"], Answer{Lend: "web2"}, "without a way"},
		{"the way to another host", "Lent", q["Borrow"], Answer{Lend: "web2", Lent: waysTo("web3")}, `the way to "web3"`},
		{"a way with a command", "Lent", q["Borrow"], Answer{Lend: "web2", Lent: local}, "is not a name"},
		{"a long certificate", "Lent", q["Borrow"], Answer{Lend: "web2", Lent: &Lent{Target: waysTo("web2").Target, Certificate: []byte(long)}}, "a certificate of 2097152 bytes"},
		{"a host with the inventory of another", "Lent", q["Borrow"], Answer{Lend: "web2", Lent: &Lent{Inventory: waysTo("web3").Inventory, Target: waysTo("web2").Target}}, "the inventory of other hosts"},
		{"a forecast without a host", "Predicted", q["Borrow"], Answer{Predicted: true}, `lent "" in place of "web2"`},
		{"a forecast and a result", "Predicted", q["Borrow"], Answer{Predicted: true, Result: &wire.Result{}}, "although the result is known"},
		{"nothing for a look-up", "Looked", q["Lookup"], Answer{}, "nothing for a look-up"},
		{"registrations in place of a value", "Looked", q["Lookup"], Answer{Looked: &Looked{Registered: yamlpos.Portable{Node: list}}}, "registrations in place of a value"},
		{"a value in place of registrations", "Looked", registrations, Answer{Looked: &Looked{Value: []byte("x")}}, "a value in place of registrations"},
		{"registrations that are a map", "Looked", registrations, Answer{Looked: &Looked{Registered: yamlpos.Portable{Node: deep}}}, "not a list"},
		{"no facts", "OtherFacts", q["OtherFacts"], Answer{}, "no facts of other hosts"},
		{"facts that are null", "OtherFacts", q["OtherFacts"], Answer{OtherFacts: &OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {}}}}, "they are not a map"},
		{"facts that are a list", "OtherFacts", q["OtherFacts"], Answer{OtherFacts: &OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {Node: list}}}}, "they are not a map"},
		{"deep facts", "OtherFacts", q["OtherFacts"], Answer{OtherFacts: &OtherFacts{Facts: map[string]yamlpos.Portable{"web2": {Node: deep}}}}, "64 levels"},
		{"a long reason for unknown facts", "OtherFacts", q["OtherFacts"], Answer{OtherFacts: &OtherFacts{Unknown: map[string]string{"web2": long}}}, "a reason of 2097152 bytes"},
	}
	fields := map[string]Answer{
		"Imported": {Imported: &wire.Imported{Index: 2, Values: all}}, "On": {On: "x"}, "Result": {Result: &wire.Result{}}, "Lend": {Lend: "web2"},
		"Predicted": {Predicted: true}, "Lent": {Lent: waysTo("web2")}, "Looked": {Looked: &Looked{}}, "OtherFacts": {OtherFacts: &OtherFacts{}},
		"MayHold": {MayHold: &share.MayHoldError{}},
	}
	for kind, question := range q { // each field in the answer to each question that does not have it
		for field, answer := range fields {
			allowed := false
			for _, one := range questionKinds[kind].fields {
				allowed = allowed || one == field
			}
			if !allowed {
				cases = append(cases, answerBreach{field + " for " + kind, field, question, answer, "answered " + kind + " with " + field + ", which the worker did not request"})
			}
		}
	}
	return cases
}

// TestAnswerBreaches checks answers that no coordinator sends.
func TestAnswerBreaches(t *testing.T) {
	for _, b := range answerBreaches() {
		err := b.to.CheckAnswer(&b.answer)
		require.ErrorContains(t, err, b.want, b.name)
		require.IsType(t, &BreachError{}, err)
	}
	for kind, q := range askedQuestions() {
		for _, answer := range []Answer{{Error: "x"}, {Over: true}} {
			require.NoError(t, q.CheckAnswer(&answer), kind)
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
		`{}`, `{"over":true}`, `{"imported":{"i":2,"values":{"content":"a","mode":"b"}}}`, `{"on":"web2","result":{"status":"changed"}}`,
		`{"lend":"web2","lent":{"inventory":{"hosts":[{"name":"web2","groups":["all"]}],"groups":[{"name":"all"}]},"target":{"host":"web2","address":"192.0.2.1","user":"x"}}}`,
		`{"looked":{"registered":{"k":1,"i":[null]}}}`, `{"other_facts":{"facts":{"web2":{"k":2,"p":[null,null]}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for kind, q := range askedQuestions() {
			var a Answer
			if json.Unmarshal(text, &a) == nil && q.CheckAnswer(&a) == nil {
				taken(t, kind, a)
			}
		}
		registrations := Question{Lookup: &Lookup{Registration: []string{"a", "b", "c", "d"}}}
		var a Answer
		if json.Unmarshal(text, &a) == nil && registrations.CheckAnswer(&a) == nil {
			n := &askedNATS{always(a), "web1", &sync.Map{}}
			_, _ = n.Registrations(t.Context(), "a", "b", "c", "d")
		}
	})
}

func always(a Answer) func(context.Context, string, Question) (Answer, error) {
	return func(context.Context, string, Question) (Answer, error) { return a, nil }
}

// taken has a worker take an answer to a question of a kind.
func taken(t *testing.T, kind string, a Answer) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asks := &asking{ask: always(a), waiting: func() {}}
	defer asks.telling.Wait()
	switch kind {
	case "Here":
		_, _ = asks.here(ctx, "web1", place{Index: 3}, &catalog.Compiled{Catalog: wire.Catalog{Entries: make([]wire.Entry, 1)}})
	case "Imports":
		e := &askedExchange{asking: asks, ctx: ctx, host: "web1", sensitive: map[int]bool{}}
		require.NotNil(t, e.Import(ctx, 2))
	case "Claims":
		asks.claim(ctx, "web1", &Claims{Index: 1, Semaphores: []string{"door:1"}}).Release()
	case "Awaits":
		_, _, _ = (&askedOnce{asking: asks, ctx: ctx}).Await(ctx, "web1", "x")
	case "Borrow":
		_, done, _, err := asks.borrow(ctx, "web1", Borrow{place{Index: 4}, "web2"})
		if err == nil && done != nil {
			done(nil)
		}
	case "Lookup":
		_, _ = (&askedNATS{always(a), "web1", &sync.Map{}}).Value(ctx, "b", "k")
	case "File":
		file := &passedFile{asks, ctx, "web1", FilePart{}}
		_, _ = io.WriteString(file, "x")
		_ = file.Keep()
	case "Step":
		asks.stepper().there(ctx, "web1", "?")
	case "OtherFacts":
		s := &selection{values: &inventoryValues{}, play: &manifest.Play{HostFacts: []*yamlpos.Node{{}}}}
		_ = (&Runner{AskShared: always(a)}).askOtherFacts(ctx, s, "web1")
	}
}
