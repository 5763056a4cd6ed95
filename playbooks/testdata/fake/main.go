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
)

func main() {
	fault := os.Getenv("FAKE")
	hello := &modules.Hello{Nonce: os.Args[2], Build: "fake"}
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
	if err := modules.WriteHello(os.Stdout, hello); err != nil {
		os.Exit(1)
	}
	if fault == "" {
		serve()
		return
	}
	in := bufio.NewReader(os.Stdin)
	misbehave(fault, in, modules.NewConn(in, os.Stdout, modules.MaxFromController))
}

// serve is the honest one.
func serve() {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	serving := &session.Session{
		Registry: builtin.Types(), Host: system.New(), SpoolDir: filepath.Dir(self), Now: time.Now,
		Lock: func(context.Context, modules.Lock) (func(), error) { return func() {}, nil },
	}
	serving.Serve(context.Background(), os.Stdin, os.Stdout)
}

// misbehave breaks the rules in one way once it has its catalog.
func misbehave(fault string, in *bufio.Reader, conn *modules.Conn) {
	m, err := conn.Receive()
	if err != nil || m.Catalog == nil {
		os.Exit(1)
	}
	say := func(messages ...*modules.Message) { conn.Send(messages...) }
	result := func(r modules.Result) *modules.Message { return &modules.Message{Result: &r} }
	switch fault {
	case "garbage":
		fmt.Println("Segmentation fault")
	case "no JSON":
		deflated(strings.NewReader("{]\n"))
	case "an endless line":
		deflated(endless{})
	case "index too large":
		say(result(modules.Result{Index: 9}))
	case "index below zero":
		say(result(modules.Result{Index: -1}))
	case "twice":
		say(result(modules.Result{}), result(modules.Result{}))
	case "status":
		say(result(modules.Result{Status: "odd"}))
	case "many changes":
		say(result(modules.Result{Status: modules.Changed, Changes: make([]modules.Change, 2000)}))
	case "heavy changes":
		deflated(strings.NewReader(`{"result":{"i":0,"status":"changed","changes":[` + strings.Repeat(`{},`, 1_000_000) + "{}]}}\n"))
	case "heavy values":
		deflated(strings.NewReader(`{"result":{"i":0,"sent":{"a":[` + strings.Repeat(`{},`, 1_000_000) + "{}]}}}\n"))
	case "unasked health":
		say(result(modules.Result{Health: []modules.HealthVerdict{{Status: modules.HealthOK}}}))
	case "foreign content":
		say(&modules.Message{Want: &modules.Want{SHA256: []string{strings.Repeat("0", 64)}}})
	case "want of nothing":
		say(&modules.Message{Want: &modules.Want{}})
	case "want flood":
		for {
			say(&modules.Message{Want: &modules.Want{SHA256: []string{own(m.Catalog)}}})
		}
	case "pong flood":
		for {
			say(&modules.Message{Pong: &modules.Empty{}})
		}
	case "catalog":
		say(&modules.Message{Catalog: m.Catalog})
	case "done too early":
		say(&modules.Message{Done: &modules.Done{}})
	case "stopped":
		say(&modules.Message{Done: &modules.Done{Stopped: true}})
	case "lock":
		say(&modules.Message{Refused: &modules.Refused{Phase: "lock", Error: "held by \x1b[31mmallory"}})
		return
	case "refused":
		say(&modules.Message{Refused: &modules.Refused{Phase: "\x1b[31m", Error: "no"}})
	case "exit":
		fmt.Fprintln(os.Stderr, "out of \x1b[31mmemory")
		os.Exit(3)
	case "clean exit":
		return
	case "YAML":
		var notes []modules.Note
		for i, text := range []string{"a: [1.50, x]", "a: !x b", "{\"a\": \"b\"}"} {
			say(&modules.Message{Parse: &modules.Parse{ID: i + 1, Text: text}})
			answer, err := conn.Receive()
			if err != nil {
				os.Exit(1)
			}
			parsed, _ := json.Marshal(answer.Parsed)
			notes = append(notes, modules.Note{Level: "info", Text: string(parsed)})
		}
		say(result(modules.Result{Messages: notes}), result(modules.Result{Index: 1}), &modules.Message{Done: &modules.Done{}})
	case "YAML flood":
		for i := range 20_000 {
			say(&modules.Message{Parse: &modules.Parse{ID: i + 1, Text: "a"}})
		}
	case "large YAML":
		say(&modules.Message{Parse: &modules.Parse{ID: 1, Text: strings.Repeat("#", modules.MaxParse+1)}})
	case "much YAML":
		for i := range 1000 {
			say(&modules.Message{Parse: &modules.Parse{ID: i + 1, Text: strings.Repeat("#", modules.MaxParse)}})
		}
	case "YAML that grows":
		text := "a: &a " + strings.Repeat("x", 2000) + "\nb: [" + strings.Repeat("*a,", 500) + "]\n"
		for i := range 100 {
			say(&modules.Message{Parse: &modules.Parse{ID: i + 1, Text: text}})
		}
	case "YAML that copies":
		text := strings.Repeat("{<<: ", 90) + "{"
		for i := range 500 {
			text += fmt.Sprintf("k%d: , ", i)
		}
		text += strings.Repeat("}", 91)
		for i := range 100 {
			say(&modules.Message{Parse: &modules.Parse{ID: i + 1, Text: text}})
		}
	case "YAML without a number":
		say(&modules.Message{Parse: &modules.Parse{Text: "a"}})
	case "answer":
		say(&modules.Message{Parsed: &modules.Parsed{ID: 1}})
	case "large state":
		say(result(modules.Result{State: &modules.State{After: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}))
	case "large restart":
		say(result(modules.Result{State: &modules.State{Restart: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}}}))
	case "error kind":
		say(result(modules.Result{ErrorKind: "\x1b[31modd"}))
	case "left":
		say(result(modules.Result{}), result(modules.Result{Index: 1}), &modules.Message{Left: &modules.Left{Entries: []modules.LeftEntry{{Type: "file", Name: "/etc/passwd"}}}})
	case "tries":
		say(result(modules.Result{Tries: -1}))
	case "deep state":
		deep := json.RawMessage(strings.Repeat("[", 200) + strings.Repeat("]", 200))
		say(result(modules.Result{State: &modules.State{Before: deep, Restart: []json.RawMessage{deep}}}),
			result(modules.Result{Index: 1, State: &modules.State{Before: json.RawMessage("{\"a\":\"\xff\u009b2J\"}"), Restart: make([]json.RawMessage, 100)}}),
			&modules.Message{Done: &modules.Done{}})
	case "huge diff":
		say(result(modules.Result{Status: modules.Changed, Diff: strings.Repeat("+x\n", 1<<19)}), result(modules.Result{Index: 1}), &modules.Message{Done: &modules.Done{}})
	case "control characters":
		say(result(modules.Result{Status: modules.Failed, Error: "\x1b[2Jboo", Message: "\x1b[2J", Because: "\x07", Messages: []modules.Note{{Level: "\x1b", Text: "\x1b[2J"}}}),
			result(modules.Result{Index: 1}), &modules.Message{Done: &modules.Done{}})
	}
	for { // whatever happened, it stays until it is killed
		io.Copy(io.Discard, in)
		time.Sleep(time.Hour)
	}
}

// own is the hash of the content that the second resource needs.
func own(cat *modules.Catalog) string {
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
