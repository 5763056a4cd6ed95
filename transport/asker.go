package transport

import (
	"bytes"
	"sync"
)

// An asker waits for the prompt of an escalation in what the host prints, and
// answers it: once, never before it, and not any more when the script runs. For if
// the method did not ask, what runs then could: it may be of a user who shall not
// know the password. The asker is written to by whoever reads that output.
type asker struct {
	begin  []byte // what announces the method; nil for one whose prompt is known
	prompt []byte // the known prompt
	begun  []byte // what the script says first; nothing asks behind that
	answer func() // sends the password; nil if there is none
	refuse func() // gives up, after a prompt that there is no answer to

	mu        sync.Mutex
	recent    []byte // not recognised yet
	announced bool
	prompts   int
	over      bool
}

// maxRecent is how much output a prompt is looked for in, in bytes.
const maxRecent = 4 << 10

func newAsker(b *Become, nonce string) *asker {
	if b == nil || b.method() != methodSu && b.Password == nil {
		return nil
	}
	a := &asker{begun: []byte(begun(nonce))}
	if b.method() == methodSudo {
		a.prompt = []byte(sudoAsks(nonce))
	} else {
		a.begin = []byte(announced + nonce)
	}
	return a
}

// Write looks at more output.
func (a *asker) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return len(b), nil
	}
	a.recent = append(a.recent, b...)
	for !a.ends() && a.asks() {
		a.prompts++
		if a.prompts > 1 || a.answer == nil {
			a.over = true
			a.refuse()
			break
		}
		a.answer()
	}
	if over := len(a.recent) - maxRecent; over > 0 {
		a.recent = append(a.recent[:0], a.recent[over:]...)
	}
	return len(b), nil
}

// asks reports a prompt, and forgets it with what stood before it.
func (a *asker) asks() bool {
	if a.prompt != nil {
		_, after, found := bytes.Cut(a.recent, a.prompt)
		if found {
			a.recent = bytes.Clone(after)
		}
		return found
	}
	if !a.announced {
		_, after, found := bytes.Cut(a.recent, a.begin)
		if _, after, a.announced = bytes.Cut(after, []byte("\n")); !found || !a.announced {
			a.announced = false
			return false
		}
		a.recent = bytes.Clone(after)
	}
	if !isPrompt(a.recent[bytes.LastIndexByte(a.recent, '\n')+1:]) {
		return false
	}
	a.recent = nil
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
func (a *asker) ends() bool {
	if bytes.Contains(a.recent, a.begun) {
		a.over, a.announced = true, true
	}
	return a.over
}

// end says that the script has answered: from now on what is printed asks for
// nothing.
func (a *asker) end() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over, a.recent = true, nil
}

// reached reports whether the method has been announced, rather than the login shell
// have kept it from being run.
func (a *asker) reached() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.announced
}

// asked is how often there was a prompt, and whether one could not be answered.
func (a *asker) asked() (prompts int, refused bool) {
	if a == nil {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prompts, a.prompts > 1 || a.prompts == 1 && a.answer == nil
}
