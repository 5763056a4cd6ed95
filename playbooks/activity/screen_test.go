package activity

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A screen is a terminal with the features that a [Live] uses. As with a real one, rows above the screen can be read
// and not changed.
type screen struct {
	t      *testing.T
	reflow bool // a new width wraps lines again; otherwise it cuts them

	mu            sync.Mutex
	columns, rows int
	lines         []screenLine
	row, column   int // place of the cursor, row in all lines
	noWrap        bool
	updating      bool
	writes        int
	rest          string // an escape sequence that has not ended
}

type screenLine struct {
	cells   []string // "" is the second half of a wide one
	wrapped bool     // it continues in the next line
}

func newScreen(t *testing.T, columns, rows int) *screen {
	return &screen{t: t, columns: columns, rows: rows, lines: make([]screenLine, 1)}
}

func (s *screen) Size() (int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

func (s *screen) terminal() Terminal { return Terminal{Writer: s, Size: s.Size} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	text := s.rest + string(p)
	s.rest = ""
	for text != "" {
		if text[0] == '\x1b' {
			end := strings.IndexAny(text[2:], "ABCDEFGHJKhlm") + 3
			s.escape(text[:end])
			text = text[end:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		s.put(r)
		text = text[n:]
	}
	return len(p), nil
}

func (s *screen) escape(sequence string) {
	switch sequence {
	case "\x1b[J":
		require.Zero(s.t, s.column, "lines are erased from their beginning")
		s.lines = s.lines[:s.row+1]
		s.lines[s.row] = screenLine{}
	case "\x1b[1A", "\x1b[2A", "\x1b[3A", "\x1b[4A":
		s.row = max(s.row-int(sequence[2]-'0'), s.top())
	case noWrap:
		s.noWrap = true
	case wrap:
		s.noWrap = false
	case beginUpdate:
		s.updating = true
	case endUpdate:
		s.updating = false
	default:
		s.t.Errorf("the screen got %q", sequence)
	}
}

// top is the first row that can be seen.
func (s *screen) top() int { return max(0, len(s.lines)-s.rows) }

func (s *screen) put(r rune) {
	switch {
	case r == '\r':
		s.column = 0
		return
	case r == '\n': // as with onlcr
		s.lines[s.row].wrapped = false
		s.column = 0
		s.down()
		return
	case r < 0x20, r == 0x7f, r >= 0x80 && r < 0xa0:
		s.t.Errorf("the screen got %q", r)
		return
	}
	w := columnsOfRune(r)
	if w == 0 {
		return
	}
	if s.column+w > s.columns {
		if s.noWrap {
			return
		}
		s.lines[s.row].wrapped = true
		s.column = 0
		s.down()
	}
	line := &s.lines[s.row]
	for len(line.cells) < s.column+w {
		line.cells = append(line.cells, " ")
	}
	line.cells[s.column] = string(r)
	if w == 2 {
		line.cells[s.column+1] = ""
	}
	s.column += w
}

func (s *screen) down() {
	if s.row++; s.row == len(s.lines) {
		s.lines = append(s.lines, screenLine{})
	}
}

// resize changes the size as a terminal does: the cursor stays where it is in the text.
func (s *screen) resize(columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = rows
	if !s.reflow {
		for i := range s.lines {
			s.lines[i].cells = s.lines[i].cells[:min(len(s.lines[i].cells), columns)]
		}
		s.columns, s.column = columns, min(s.column, columns)
		return
	}
	s.columns = columns
	old, row, column := s.lines, s.row, s.column
	s.lines = nil
	for i := 0; i < len(old); i++ {
		var cells []string
		at := -1 // of the cursor in the line
		for ; ; i++ {
			if i == row {
				at = len(cells) + column
			}
			cells = append(cells, old[i].cells...)
			if !old[i].wrapped || i+1 == len(old) {
				break
			}
		}
		first := len(s.lines)
		for len(cells) > columns {
			n := columns
			if cells[n] == "" {
				n--
			}
			s.lines = append(s.lines, screenLine{cells[:n:n], true})
			cells = cells[n:]
		}
		s.lines = append(s.lines, screenLine{cells, false})
		if at >= 0 {
			s.row, s.column = first+at/columns, at%columns
		}
	}
}

// text returns everything, in lines as they were written.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.False(s.t, s.updating)
	require.False(s.t, s.noWrap)
	var b strings.Builder
	for i, l := range s.lines {
		b.WriteString(strings.Join(l.cells, ""))
		if !l.wrapped && i < len(s.lines)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// below returns the lines from the cursor on.
func (s *screen) below() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, l := range s.lines[s.row:] {
		require.False(s.t, l.wrapped)
		require.LessOrEqual(s.t, len(l.cells), s.columns)
		list = append(list, strings.Join(l.cells, ""))
	}
	return list
}
