package gotemplate

import (
	"reflect"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// timeFunctions returns the time functions. Their zone is UTC where Sprig uses the machine's zone: a text must not
// depend on which controller makes it.
func timeFunctions() map[string]function {
	all := sprigs()
	duration, round := sprigFunction(all["duration"], "a"), sprigFunction(all["durationRound"], "a")
	const day = "2006-01-02"
	table := map[string]function{
		"now": {"", func(*goRun, []any) (any, error) { return time.Now().UTC(), nil }},
		"ago": {"d", func(_ *goRun, args []any) (any, error) {
			return time.Since(args[0].(time.Time)).Round(time.Second).String(), nil
		}},
		"date":     {"sd", func(_ *goRun, args []any) (any, error) { return dated("date", args[0], args[1], "") }},
		"htmlDate": {"d", func(_ *goRun, args []any) (any, error) { return dated("htmlDate", day, args[0], "") }},
		"dateInZone": {"sds", func(_ *goRun, args []any) (any, error) {
			return dated("dateInZone", args[0], args[1], args[2].(string))
		}},
		"htmlDateInZone": {"ds", func(_ *goRun, args []any) (any, error) {
			return dated("htmlDateInZone", day, args[0], args[1].(string))
		}},
		"dateModify":    {"sd", func(_ *goRun, args []any) (any, error) { return later(args[0].(string), args[1].(time.Time)) }},
		"toDate":        {"ss", func(_ *goRun, args []any) (any, error) { return parsedDate(args[0].(string), args[1].(string)) }},
		"unixEpoch":     {"d", func(_ *goRun, args []any) (any, error) { return strconv.FormatInt(args[0].(time.Time).Unix(), 10), nil }},
		"duration":      {"a", func(g *goRun, args []any) (any, error) { return duration.call(g, []any{sprigTime(args[0])}) }},
		"durationRound": {"a", func(g *goRun, args []any) (any, error) { return round.call(g, []any{sprigTime(args[0])}) }},
	}
	table["date_in_zone"] = table["dateInZone"]
	table["mustDateModify"], table["date_modify"], table["must_date_modify"] = table["dateModify"], table["dateModify"], table["dateModify"]
	table["mustToDate"] = table["toDate"]
	return table
}

// timeOf returns v as a time; it may be given as seconds since 1970.
func timeOf(v any) (time.Time, bool) {
	if t, ok := v.(time.Time); ok {
		return t, true
	}
	seconds, ok := wholeInt(v)
	return time.Unix(int64(seconds), 0).UTC(), ok
}

// sprigTime returns an argument in one of the types that Sprig distinguishes.
func sprigTime(v any) any {
	if rv := reflect.ValueOf(v); rv.IsValid() && rv.CanInt() {
		return rv.Int()
	}
	return render.WholeNumber(v)
}

var zoneName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][\w+-]*(/[\w+-]+)*$`) })

func dated(name string, layout, t any, zone string) (any, error) {
	location := time.UTC
	if zone != "" && zone != "Local" {
		var err error
		// A name as in the zone database, and never a path that leads elsewhere.
		if len(zone) > 64 || !zoneName().MatchString(zone) {
			err = diag.Faultf("bad name")
		} else {
			location, err = time.LoadLocation(zone)
		}
		if err != nil {
			return nil, diag.Faultf("%s: unknown time zone", name).WithHint("write it as in Europe/Paris, or UTC")
		}
	}
	return t.(time.Time).In(location).Format(layout.(string)), nil
}

func later(s string, t time.Time) (any, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return nil, diag.Faultf("dateModify: the text is not a duration").WithHint("write it as in -1h30m")
	}
	return t.Add(d), nil
}

func parsedDate(layout, s string) (any, error) {
	t, err := time.ParseInLocation(layout, s, time.UTC)
	if err != nil {
		return nil, diag.Faultf("toDate: the text is not a date of this layout").WithHint("a layout shows 2006-01-02 15:04:05")
	}
	return t, nil
}
