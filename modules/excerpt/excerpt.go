// Package excerpt shortens long texts: the beginning and the end stay, and a mark between them contains how much is
// missing. Most outputs have the error at the end, and the action at the beginning.
//
// It imports nothing of this project, so that both programs and every room may use it.
package excerpt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Of returns text, or if that is longer than most bytes its excerpt: at most so many bytes of it, and the mark.
func Of(text string, most int) string {
	if len(text) <= most {
		return text
	}
	most = max(0, most)
	short, _ := join(text[:most/2], text[len(text)-(most-most/2):], int64(len(text)))
	return short
}

// Lines returns all, or if they are more than most their excerpt, in which the mark is one of the most lines.
func Lines(all []string, most int) []string {
	if len(all) <= most {
		return all
	}
	head := max(0, most-1) / 2
	tail := max(0, most-1-head)
	mark := Mark(int64(len(all)-head-tail), "line")
	return slices.Concat(all[:head], []string{mark}, all[len(all)-tail:])
}

// Mark is the text in place of n missing bytes, lines or other units.
func Mark(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("[… %d %s left out …]", n, what)
}

// A Writer keeps an excerpt of the text written to it. It holds at most one and a half times Most.
type Writer struct {
	Most int // bytes to keep

	head, tail []byte
	total      int64
}

// Write implements [io.Writer]. It takes everything.
func (w *Writer) Write(p []byte) (int, error) {
	n, begin, end := len(p), w.Most/2, w.Most-w.Most/2
	w.total += int64(n)
	room := min(n, begin-len(w.head))
	w.head, p = append(w.head, p[:room]...), p[room:]
	w.tail = append(w.tail, p[max(0, len(p)-end):]...)
	if len(w.tail) > 2*end {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-end:]...)
	}
	return n, nil
}

// Reset forgets the text written so far.
func (w *Writer) Reset() { w.head, w.tail, w.total = w.head[:0], w.tail[:0], 0 }

// Len is how many bytes have been written.
func (w *Writer) Len() int64 { return w.total }

// Text is the text written so far, or its excerpt, and how many bytes are missing in that.
func (w *Writer) Text() (text string, missing int64) {
	if w.total <= int64(w.Most) {
		return string(w.head) + string(w.tail), 0
	}
	end := w.Most - w.Most/2
	return join(string(w.head), string(w.tail[max(0, len(w.tail)-end):]), w.total)
}

// String is the text alone.
func (w *Writer) String() string {
	text, _ := w.Text()
	return text
}

// join puts the mark between the two ends of a text of total bytes. It cuts each end at a line end if one is near, so
// that the mark has a line of its own, otherwise between two characters.
func join(head, tail string, total int64) (text string, missing int64) {
	head = head[:lineEnd(head)]
	start := lineStart(tail)
	after := ""
	if start > 0 && tail[start-1] == '\n' {
		after = "\n"
	}
	tail = tail[start:]
	missing = total - int64(len(head)+len(tail))
	return head + Mark(missing, "byte") + after + tail, missing
}

// near is the part of a text, one in near, that may be given up to cut it at a line end.
const near = 4

// lineEnd is where to cut the end of a text off.
func lineEnd(text string) int {
	least := len(text) - len(text)/near
	if at := strings.LastIndexByte(text[least:], '\n'); at >= 0 {
		return least + at + 1
	}
	for n := 1; n <= min(utf8.UTFMax, len(text)); n++ {
		if at := len(text) - n; utf8.RuneStart(text[at]) {
			if utf8.FullRuneInString(text[at:]) {
				break
			}
			return at
		}
	}
	return len(text)
}

// lineStart is where to cut the beginning of a text off.
func lineStart(text string) int {
	if at := strings.IndexByte(text[:len(text)/near], '\n'); at >= 0 {
		return at + 1
	}
	for n := range utf8.UTFMax {
		if n == len(text) || utf8.RuneStart(text[n]) {
			return n
		}
	}
	return 0 // not UTF-8
}
