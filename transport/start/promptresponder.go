package start

import (
	"bytes"
	"sync"
)

// A promptResponder waits for the prompt of an escalation in what the host prints, and
// answers it: once, never before it, and not any more when the script runs. For if
// the method did not ask, what runs then could: it may be of a user who shall not
// know the password. It is written to by whoever reads that output.
type promptResponder struct {
	begin  []byte // what announces the method; nil for one whose prompt is known
	prompt []byte // the known prompt
	begun  []byte // what the script says first; nothing asks behind that
	answer func() // sends the password; nil if there is none
	refuse func() // gives up, after a prompt that there is no answer to

	mu        sync.Mutex
	recent    []byte // not recognised yet
	announced bool
	prompts   int
	owner     string // the account that the last prompt named, or ""
	over      bool
}

// maxRecent is how much output a prompt is looked for in, in bytes.
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

// asks reports a prompt, and forgets it with what stood before it.
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

// isPrompt reports whether an unfinished line waits for an answer: in all languages
// prompts for a password end with a colon. What complains does so in pieces, of which
// its name is the first.
func isPrompt(line []byte) bool {
	if complaint().Match(line) {
		return false
	}
	line = bytes.TrimRight(line, " \u00a0")
	return bytes.HasSuffix(line, []byte(":")) || bytes.HasSuffix(line, []byte("：")) // the wide one, U+FF1A
}

// complaint is how what may stand between us and a prompt begins what it has to say.
var complaint = pattern(`^[ \r]*(su|doas|sudo|(/usr/bin/)?env|(/bin/)?sh):`)

// ends reports whether nothing can ask any more.
func (r *promptResponder) ends() bool {
	if bytes.Contains(r.recent, r.begun) {
		r.over, r.announced = true, true
	}
	return r.over
}

// end says that the script has answered: from now on what is printed asks for
// nothing.
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

// asked is how often there was a prompt, which account the last one named, and whether one could not be answered.
func (r *promptResponder) asked() (prompts int, owner string, refused bool) {
	if r == nil {
		return 0, "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prompts, r.owner, r.prompts > 1 || r.prompts == 1 && r.answer == nil
}
