package start

import (
	"bytes"
	"sync"
)

// A promptResponder waits for the prompt of an escalation in the host's output, and answers it: at most once, not
// before the prompt, and not after the script has begun. After that, a program could print the same prompt, and its
// user might not be allowed to see the password. The reader of the output writes to it.
type promptResponder struct {
	begin  []byte // announcement of the method; nil if the prompt is known
	prompt []byte // the known prompt
	begun  []byte // first output of the script; later prompts are not the method's
	answer func() // sends the password; nil if there is none
	refuse func() // gives up, after a prompt that there is no answer to

	mu        sync.Mutex
	recent    []byte // not recognised yet
	announced bool
	prompts   int
	owner     string // the account that the last prompt named, or ""
	over      bool
}

// maxRecent is the amount of recent output that is searched for a prompt, in bytes.
const maxRecent = 4 << 10

func newPromptResponder(b *Become, nonce string) *promptResponder {
	if b == nil || b.method() != methodSu && b.Password == nil {
		return nil
	}
	r := &promptResponder{begun: []byte(begun(nonce))}
	if b.method() == methodSudo {
		r.prompt = []byte(sudoAsks(nonce))
	} else {
		r.begin = []byte(announced + nonce)
	}
	return r
}

// Write looks at more output.
func (r *promptResponder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return len(b), nil
	}
	r.recent = append(r.recent, b...)
	for !r.ends() && r.asks() {
		r.prompts++
		if r.prompts > 1 || r.answer == nil {
			r.over = true
			r.refuse()
			break
		}
		r.answer()
	}
	if over := len(r.recent) - maxRecent; over > 0 {
		r.recent = append(r.recent[:0], r.recent[over:]...)
	}
	return len(b), nil
}

// asks reports whether there is a prompt, and removes it and the output before it.
func (r *promptResponder) asks() bool {
	if r.prompt != nil {
		before, after, found := bytes.Cut(r.recent, r.prompt)
		if found {
			r.owner = ownerIn(string(before))
			r.recent = bytes.Clone(after)
		}
		return found
	}
	if !r.announced {
		_, after, found := bytes.Cut(r.recent, r.begin)
		if _, after, r.announced = bytes.Cut(after, []byte("\n")); !found || !r.announced {
			r.announced = false
			return false
		}
		r.recent = bytes.Clone(after)
	}
	if !isPrompt(r.recent[bytes.LastIndexByte(r.recent, '\n')+1:]) {
		return false
	}
	r.recent = nil
	return true
}

// isPrompt reports whether an unfinished line waits for an answer: prompts for a password end with a colon in all
// languages. Error messages arrive in pieces; the first piece is the name of the program and a colon.
func isPrompt(line []byte) bool {
	if complaint().Match(line) {
		return false
	}
	line = bytes.TrimRight(line, " \u00a0")
	return bytes.HasSuffix(line, []byte(":")) || bytes.HasSuffix(line, []byte("：")) // the wide one, U+FF1A
}

// complaint matches the begin of an error message of a program between us and the prompt.
var complaint = pattern(`^[ \r]*(su|doas|sudo|(/usr/bin/)?env|(/bin/)?sh):`)

// ends reports whether no more prompts can come.
func (r *promptResponder) ends() bool {
	if bytes.Contains(r.recent, r.begun) {
		r.over, r.announced = true, true
	}
	return r.over
}

// end marks that the script has answered: later output contains no prompts.
func (r *promptResponder) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over, r.recent = true, nil
}

// reached reports whether the method has been announced, rather than the login shell
// have kept it from being run.
func (r *promptResponder) reached() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.announced
}

// asked returns the number of prompts, the account in the last one, and whether one could not be answered.
func (r *promptResponder) asked() (prompts int, owner string, refused bool) {
	if r == nil {
		return 0, "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prompts, r.owner, r.prompts > 1 || r.prompts == 1 && r.answer == nil
}
