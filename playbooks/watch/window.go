package watch

import (
	"fmt"
	"strings"
	"time"
)

// A Window is a part of each day, or of some days of the week, in the time zone of the controller. Its end may be on
// the next day.
type Window struct {
	Days     [7]bool       // from Sunday on, on which it begins
	From, To time.Duration // time since midnight; To is exclusive, and on the next day if it is not after From
}

// ParseWindow reads "02:00-04:00", "Sat 02:00-04:00" or "Mon-Fri,Sun 22:00-06:00".
func ParseWindow(text string) (Window, error) {
	wrong := fmt.Errorf("%.60q is not a time: write it as \"Sat 02:00-04:00\", \"Mon-Fri 22:00-06:00\" or \"02:00-04:00\"", text)
	w := Window{}
	words := strings.Fields(text)
	switch len(words) {
	case 1:
		for i := range w.Days {
			w.Days[i] = true
		}
	case 2:
		if !w.days(words[0]) {
			return Window{}, wrong
		}
	default:
		return Window{}, wrong
	}
	from, to, ok := strings.Cut(words[len(words)-1], "-")
	var good, alsoGood bool
	w.From, good = timeOfDay(from)
	w.To, alsoGood = timeOfDay(to)
	if !ok || !good || !alsoGood || w.From == w.To || w.From == day {
		return Window{}, wrong
	}
	return w, nil
}

// String returns a written form of the window.
func (w Window) String() string {
	var days []string
	for i := 0; i < len(w.Days); i++ {
		if !w.Days[i] {
			continue
		}
		first := i
		for i+1 < len(w.Days) && w.Days[i+1] {
			i++
		}
		switch name := title(weekdays[first]); i - first {
		case 0:
			days = append(days, name)
		default:
			days = append(days, name+"-"+title(weekdays[i]))
		}
	}
	times := clock(w.From) + "-" + clock(w.To)
	if w.Days == [7]bool{true, true, true, true, true, true, true} {
		return times
	}
	return strings.Join(days, ",") + " " + times
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func clock(d time.Duration) string {
	return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute)
}

const day = 24 * time.Hour

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// days reads "Sat" or "Mon-Fri,Sun".
func (w *Window) days(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := weekday(first), weekday(last)
		if from < 0 || to < 0 {
			return false
		}
		for d := from; ; d = (d + 1) % len(weekdays) {
			w.Days[d] = true
			if d == to {
				break
			}
		}
	}
	return true
}

func weekday(text string) int {
	for i, name := range weekdays {
		if strings.EqualFold(text, name) {
			return i
		}
	}
	return -1
}

// timeOfDay reads 02:00; 24:00 is the end of the day.
func timeOfDay(text string) (time.Duration, bool) {
	var h, m int
	if len(text) != len("02:00") || text[2] != ':' {
		return 0, false
	}
	for i, c := range []byte(text) {
		if i != 2 && (c < '0' || c > '9') {
			return 0, false
		}
	}
	h, m = int(text[0]-'0')*10+int(text[1]-'0'), int(text[3]-'0')*10+int(text[4]-'0')
	if m > 59 || h > 24 || h == 24 && m > 0 {
		return 0, false
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, true
}

// Holds reports whether a moment is in the window, by the wall clock there.
func (w Window) Holds(now time.Time) bool {
	h, m, s := now.Clock()
	at := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
	today := int(now.Weekday())
	if w.From < w.To {
		return w.Days[today] && at >= w.From && at < w.To
	}
	yesterday := (today + 6) % 7
	return w.Days[today] && at >= w.From || w.Days[yesterday] && at < w.To
}
