package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// Decode reads one line of the output of [JSON], which may lack the run. Durations have the line's precision, whole
// microseconds. Invalid UTF-8 and withheld values have their replacements. An event that this build does not know is an
// error.
func Decode(line []byte) (Event, error) {
	var head struct {
		Event string `json:"event"`
		Time  string `json:"time"`
		Run   string `json:"run"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	at, err := time.Parse(timeLayout, head.Time)
	if err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	e, err := decodeFields(head.Event, line)
	if err != nil {
		return nil, fmt.Errorf("reading an event %q: %w", head.Event, err)
	}
	return e.stamped(Stamp{Time: at, Run: head.Run}), nil
}

func decodeFields(name string, line []byte) (Event, error) {
	switch name {
	case "run_start":
		return decode[RunStart](line)
	case "site_waits":
		return decode[SiteWaits](line)
	case "play_start":
		return decode[PlayStart](line)
	case "result":
		f, err := decode[resultFields](line)
		f.Result.Duration, f.Result.Command = time.Duration(f.DurationMS), f.Command
		return f.Result, err
	case "message":
		return decode[Message](line)
	case "unreachable":
		return decode[Unreachable](line)
	case "host_failed":
		return decode[HostFailed](line)
	case "interrupted":
		return decode[Interrupted](line)
	case "reconnect":
		f, err := decode[reconnectFields](line)
		f.Reconnect.Duration = time.Duration(f.DurationMS)
		return f.Reconnect, err
	case "resource_start":
		f, err := decode[resourceStartFields](line)
		f.ResourceStart.Within = time.Duration(f.WithinMS)
		return f.ResourceStart, err
	case "untold":
		return decode[Untold](line)
	case "armed":
		f, err := decode[armedFields](line)
		f.Armed.Within = time.Duration(f.WithinMS)
		return f.Armed, err
	case "watchdog":
		return decode[Watchdog](line)
	case "confirmed":
		f, err := decode[confirmedFields](line)
		f.Confirmed.Duration = time.Duration(f.DurationMS)
		return f.Confirmed, err
	case "reverted":
		return decode[Reverted](line)
	case "host_done":
		f, err := decode[hostDoneFields](line)
		p := f.Phases
		f.HostDone.Duration = time.Duration(f.DurationMS)
		f.HostDone.Phases = Phases{
			time.Duration(p.Connect), time.Duration(p.Start), time.Duration(p.Compile), time.Duration(p.Apply),
		}
		return f.HostDone, err
	case "output":
		return decode[Output](line)
	case "summary":
		f, err := decode[summaryFields](line)
		f.Summary.Totals, f.Summary.Hosts = f.Totals, make(map[string]HostSummary, len(f.Hosts))
		for host, h := range f.Hosts {
			h.HostSummary.Duration = time.Duration(h.DurationMS)
			f.Summary.Hosts[host] = h.HostSummary
		}
		return f.Summary, err
	}
	for _, others := range []func(string, []byte) (Event, error){decodeRollout, decodeWatch} {
		if e, err := others(name, line); e != nil {
			return e, err
		}
	}
	return nil, fmt.Errorf("unknown event")
}

func decode[T any](line []byte) (T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return v, err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *milliseconds) UnmarshalJSON(text []byte) error {
	var ms float64
	if err := json.Unmarshal(text, &ms); err != nil {
		return err
	}
	*d = milliseconds(time.Duration(ms*1000+0.5) * time.Microsecond)
	return nil
}
