// Command fake stands for the host program in tests. It does what the
// environment variable FAKE says; without one it is an honest host program.
package main

import (
	"bufio"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/system"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func main() {
	fault := os.Getenv("FAKE")
	hello := &wire.Hello{Nonce: os.Args[2], Build: "fake"}
	switch fault {
	case "build":
		hello.Build = "other"
	case "facts":
		hello.Facts = json.RawMessage(`{"facts":{"deep":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`)
	case "heavy facts":
		hello.Facts = json.RawMessage(`{"facts":{"host":[` + strings.Repeat(`{"":1},`, 500_000) + `0]}}`)
	case "heavy fact files":
		hello.Facts = json.RawMessage(`{"custom":[{"path":"/etc/facts.yaml","text":"[` + strings.Repeat("1,", 500_000) + `]"}]}`)
	case "fact files":
		hello.Facts = json.RawMessage(`{"custom":[{"path":"/etc/facts.yaml","text":"a: ["}]}`)
	case "large fact files":
		hello.Facts = json.RawMessage(`{"custom":[{"path":"/etc/facts.yaml","text":"` + strings.Repeat("x", 2<<20) + `"}]}`)
	}
	if err := wire.WriteHello(os.Stdout, hello); err != nil {
		os.Exit(1)
	}
	if fault == "" {
		serve()
		return
	}
	in := bufio.NewReader(os.Stdin)
	misbehave(fault, in, wire.NewConn(in, os.Stdout, wire.MaxFromController))
}

// serve is the honest one.
func serve() {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	serving := &session.Session{
		Registry: builtin.Types(), Host: system.New(), SpoolDir: filepath.Dir(self), Now: time.Now,
		Lock: func(context.Context, wire.Lock) (func(), error) { return func() {}, nil },
	}
	serving.Serve(context.Background(), os.Stdin, os.Stdout)
}

// misbehave breaks the rules in one way once it has its catalog.
func misbehave(fault string, in *bufio.Reader, conn *wire.Conn) {
	m, err := conn.Receive()
	if err != nil || m.Catalog == nil && m.Proof == nil {
		os.Exit(1)
	}
	if answers, ok := strings.CutPrefix(fault, "confirm:"); ok {
		guarded(answers, m, conn)
		return
	}
	say := func(messages ...*wire.Message) { conn.Send(messages...) }
	result := func(r wire.Result) *wire.Message { return &wire.Message{Result: &r} }
	switch fault {
	case "garbage":
		fmt.Println("Segmentation fault")
	case "no JSON":
		deflated(strings.NewReader("{]\n"))
	case "an endless line":
		deflated(endless{})
	case "index too large":
		say(result(wire.Result{Index: 9}))
	case "index below zero":
		say(result(wire.Result{Index: -1}))
	case "twice":
		say(result(wire.Result{}), result(wire.Result{}))
	case "status":
		say(result(wire.Result{Status: "odd"}))
	case "many changes":
		say(result(wire.Result{Status: wire.Changed, Changes: make([]modules.Change, 2000)}))
	case "heavy changes":
		deflated(strings.NewReader(`{"result":{"i":0,"status":"changed","changes":[` + strings.Repeat(`{},`, 1_000_000) + "{}]}}\n"))
	case "heavy values":
		deflated(strings.NewReader(`{"result":{"i":0,"sent":{"a":[` + strings.Repeat(`{},`, 1_000_000) + "{}]}}}\n"))
	case "unasked health":
		say(result(wire.Result{Health: []wire.HealthVerdict{{Status: wire.HealthOK}}}))
	case "foreign content":
		say(&wire.Message{Want: &wire.Want{SHA256: []string{strings.Repeat("0", 64)}}})
	case "want of nothing":
		say(&wire.Message{Want: &wire.Want{}})
	case "want flood":
		for {
			say(&wire.Message{Want: &wire.Want{SHA256: []string{own(m.Catalog)}}})
		}
	case "a part below zero", "a part beyond the end":
		from := map[string]int64{"a part below zero": -1, "a part beyond the end": 1 << 40}[fault]
		say(&wire.Message{Want: &wire.Want{SHA256: []string{own(m.Catalog)}, From: map[string]int64{own(m.Catalog): from}}})
	case "flood of parts":
		for {
			say(&wire.Message{Want: &wire.Want{SHA256: []string{own(m.Catalog)}, From: map[string]int64{own(m.Catalog): 1}}})
		}
	case "pong flood":
		for {
			say(&wire.Message{Pong: &wire.Empty{}})
		}
	case "catalog":
		say(&wire.Message{Catalog: m.Catalog})
	case "done too early":
		say(&wire.Message{Done: &wire.Done{}})
	case "stopped":
		say(&wire.Message{Done: &wire.Done{Stopped: true}})
	case "lock":
		say(&wire.Message{Refused: &wire.Refused{Phase: "lock", Error: "held by \x1b[31mmallory"}})
		return
	case "refused":
		say(&wire.Message{Refused: &wire.Refused{Phase: "\x1b[31m", Error: "no"}})
	case "exit":
		fmt.Fprintln(os.Stderr, "out of \x1b[31mmemory")
		os.Exit(3)
	case "clean exit":
		return
	case "YAML":
		var notes []modules.Note
		for i, text := range []string{"a: [1.50, x]", "a: !x b", "{\"a\": \"b\"}"} {
			say(&wire.Message{Parse: &wire.Parse{ID: i + 1, Text: text}})
			answer, err := conn.Receive()
			if err != nil {
				os.Exit(1)
			}
			parsed, _ := json.Marshal(answer.Parsed)
			notes = append(notes, modules.Note{Level: "info", Text: string(parsed)})
		}
		say(result(wire.Result{Messages: notes}), result(wire.Result{Index: 1}), &wire.Message{Done: &wire.Done{}})
	case "YAML flood":
		for i := range 20_000 {
			say(&wire.Message{Parse: &wire.Parse{ID: i + 1, Text: "a"}})
		}
	case "large YAML":
		say(&wire.Message{Parse: &wire.Parse{ID: 1, Text: strings.Repeat("#", modules.MaxParse+1)}})
	case "much YAML":
		for i := range 1000 {
			say(&wire.Message{Parse: &wire.Parse{ID: i + 1, Text: strings.Repeat(" ", modules.MaxParse-1) + "1"}})
		}
	case "YAML that grows":
		text := "a: &a " + strings.Repeat("x", 2000) + "\nb: [" + strings.Repeat("*a,", 500) + "]\n"
		for i := range 100 {
			say(&wire.Message{Parse: &wire.Parse{ID: i + 1, Text: text}})
		}
	case "YAML that copies":
		text := strings.Repeat("{<<: ", 90) + "{"
		for i := range 500 {
			text += fmt.Sprintf("k%d: , ", i)
		}
		text += strings.Repeat("}", 91)
		for i := range 100 {
			say(&wire.Message{Parse: &wire.Parse{ID: i + 1, Text: text}})
		}
	case "YAML without a number":
		say(&wire.Message{Parse: &wire.Parse{Text: "a"}})
	case "answer":
		say(&wire.Message{Parsed: &wire.Parsed{ID: 1}})
	case "large state":
		say(result(wire.Result{State: &modules.State{After: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}))
	case "large restart":
		say(result(wire.Result{State: &modules.State{Restart: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}}))
	case "cause":
		say(result(wire.Result{Status: wire.Changed, Cause: "\x1b[31modd"}))
	case "cause of nothing":
		say(result(wire.Result{Cause: wire.Drift}))
	case "reason":
		say(result(wire.Result{Status: wire.Skipped, Reason: "\x1b[31modd"}))
	case "error kind":
		say(result(wire.Result{ErrorKind: "\x1b[31modd"}))
	case "left":
		say(result(wire.Result{}), result(wire.Result{Index: 1}), &wire.Message{Reversals: &wire.Reversals{Entries: []wire.Reversal{{Type: "file", Name: "/etc/passwd"}}}})
	case "tries":
		say(result(wire.Result{Tries: -1}))
	case "deep state":
		deep := json.RawMessage(strings.Repeat("[", 200) + strings.Repeat("]", 200))
		say(result(wire.Result{State: &modules.State{Before: deep, Restart: []json.RawMessage{deep}}}),
			result(wire.Result{Index: 1, State: &modules.State{Before: json.RawMessage("{\"a\":\"\xff\u009b2J\"}"), Restart: make([]json.RawMessage, 100)}}),
			&wire.Message{Done: &wire.Done{}})
	case "huge diff":
		say(result(wire.Result{Status: wire.Changed, Diff: strings.Repeat("+x\n", 1<<19)}), result(wire.Result{Index: 1}), &wire.Message{Done: &wire.Done{}})
	case "control characters":
		say(result(wire.Result{Status: wire.Failed, Error: "\x1b[2Jboo", Message: "\x1b[2J", Because: "\x07", Messages: []modules.Note{{Level: "\x1b", Text: "\x1b[2J"}}}),
			result(wire.Result{Index: 1}), &wire.Message{Done: &wire.Done{}})
	}
	for { // whatever happened, it stays until it is killed
		io.Copy(io.Discard, in)
		time.Sleep(time.Hour)
	}
}

// own is the hash of the content that the second resource needs.
func own(cat *wire.Catalog) string {
	var properties struct{ Content modules.Content }
	json.Unmarshal(cat.Entries[1].Properties, &properties)
	return properties.Content.SHA256()
}

func deflated(r io.Reader) {
	w, _ := flate.NewWriter(os.Stdout, flate.BestSpeed)
	io.Copy(w, r)
	w.Close()
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
