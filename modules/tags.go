package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Field is one property of a resource type, as its struct tags describe it.
type Field struct {
	Name     string   // json tag
	Also     []string // also tag: other spellings that manifests may use
	Doc      string
	Enum     []string // the only values, if any
	Pattern  *regexp.Regexp
	Default  string
	Required bool
	With     string // with tag: the property without which it has no meaning
	PlayFile bool   // file tag: the name of a file of the play
	PlayTree bool   // file tag: the name of a folder of the play
	Secret   bool   // secret tag "true": never shown
	URL      bool   // secret tag "url": shown as [ShownURL] has it
	Argument bool   // text tag "argument": a word for programs and files, see [ValidateArgument]
	AdHoc    string // adhoc tag: why no manifest may have it; "" may
	Event    string // event tag: "no": no event may have it; "only": only events and ad-hoc calls may
	Type     reflect.Type
	index    []int
}

var fieldCache sync.Map // reflect.Type of a struct → []Field

// Fields lists the properties of a resource, in the order of its struct. It omits fields with the tag wire:"only":
// Prepare sets them, and no manifest can.
func Fields(res any) []Field {
	t := reflect.TypeOf(res)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known, ok := fieldCache.Load(t); ok {
		return known.([]Field)
	}
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" || f.Tag.Get("wire") == "only" {
			continue
		}
		field := Field{
			Name:     name,
			Also:     splitList(f.Tag.Get("also")),
			Doc:      f.Tag.Get("doc"),
			Enum:     splitList(f.Tag.Get("enum")),
			Default:  f.Tag.Get("default"),
			Required: f.Tag.Get("required") == "true",
			With:     f.Tag.Get("with"),
			PlayFile: f.Tag.Get("file") == "play",
			PlayTree: f.Tag.Get("file") == "tree",
			Secret:   f.Tag.Get("secret") == "true",
			URL:      f.Tag.Get("secret") == "url",
			Argument: f.Tag.Get("text") == "argument" || slices.Contains(accountNames, name),
			AdHoc:    f.Tag.Get("adhoc"),
			Event:    f.Tag.Get("event"),
			Type:     f.Type,
			index:    f.Index,
		}
		if p := f.Tag.Get("pattern"); p != "" {
			field.Pattern = regexp.MustCompile(p)
		}
		fields = append(fields, field)
	}
	fieldCache.Store(t, fields)
	return fields
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// CheckText holds one text against the enum and pattern tags.
func (f Field) CheckText(path, text string) error {
	if len(f.Enum) > 0 {
		for _, e := range f.Enum {
			if text == e {
				return nil
			}
		}
		return &PropertyError{Path: path, Msg: fmt.Sprintf("%q is not one of %s", text, quoteList(f.Enum))}
	}
	if f.Pattern != nil && !f.Pattern.MatchString(text) {
		return &PropertyError{Path: path, Msg: fmt.Sprintf("%q does not match %s", text, f.Pattern)}
	}
	if f.Argument {
		return ValidateArgument(path, text)
	}
	return nil
}

// accountNames are properties that name an account, which is looked up with programs.
var accountNames = []string{"owner", "group", "user"}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ", ")
}

// CheckTags holds the values of a resource against its required, enum and
// pattern tags. The errors are PropertyErrors, joined.
func CheckTags(res any) error {
	v := reflect.Indirect(reflect.ValueOf(res))
	var errs []error
	for _, f := range Fields(res) {
		fv := v.FieldByIndex(f.index)
		if fv.IsZero() {
			if f.Required {
				errs = append(errs, &PropertyError{Path: f.Name, Msg: f.Name + " is required"})
			}
			continue
		}
		switch fv = reflect.Indirect(fv); fv.Kind() {
		case reflect.String:
			errs = append(errs, f.CheckText(f.Name, fv.String()))
		case reflect.Slice:
			if fv.Type().Elem().Kind() != reflect.String {
				break
			}
			for i := range fv.Len() {
				errs = append(errs, f.CheckText(fmt.Sprintf("%s[%d]", f.Name, i), fv.Index(i).String()))
			}
		}
	}
	return errors.Join(errs...)
}

// SetDefaults fills zero string, bool, integer and string-list properties from
// their default tags.
func SetDefaults(res any) {
	v := reflect.Indirect(reflect.ValueOf(res))
	for _, f := range Fields(res) {
		fv := v.FieldByIndex(f.index)
		if f.Default == "" || !fv.IsZero() {
			continue
		}
		switch fv.Kind() {
		case reflect.String:
			fv.SetString(f.Default)
		case reflect.Bool:
			fv.SetBool(f.Default == "true")
		case reflect.Int, reflect.Int64:
			n, err := strconv.ParseInt(f.Default, 10, 64)
			if err != nil {
				panic(fmt.Sprintf("default tag of %T.%s: %v", res, f.Name, err))
			}
			fv.SetInt(n)
		default:
			panic(fmt.Sprintf("default tag of %T.%s: %s has no defaults", res, f.Name, fv.Type()))
		}
	}
}

// decodeResource is DecodeStrict, and accepts the spellings of also tags.
func decodeResource(b []byte, into Resource) error {
	err := DecodeStrict(b, into)
	if err == nil {
		return nil
	}
	if renamed, ok := renameAlso(b, into); ok {
		return DecodeStrict(renamed, into)
	}
	return err
}

// DecodeStrict reads one JSON value, and refuses unknown keys and trailing text.
func DecodeStrict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

func renameAlso(b []byte, into Resource) (renamed []byte, ok bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return nil, false
	}
	for _, f := range Fields(into) {
		for _, also := range f.Also {
			value, given := m[also]
			if _, twice := m[f.Name]; !given || twice {
				continue
			}
			m[f.Name] = value
			delete(m, also)
			ok = true
		}
	}
	if !ok {
		return nil, false
	}
	renamed, err := json.Marshal(m)
	return renamed, err == nil
}

// isText reports whether JSON can carry b as a string without loss.
func isText(b []byte) bool { return utf8.Valid(b) }

// IsDigest reports whether s is a SHA-256 in lower-case hex.
func IsDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// SetName sets the name of a resource, the property that manifests write as a key.
func SetName(res any, name string) { nameField(res).SetString(name) }

// Name is the name of a resource.
func Name(res any) string { return nameField(res).String() }

func nameField(res any) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(res))
	for _, f := range Fields(res) {
		if f.Name == "name" {
			return v.FieldByIndex(f.index)
		}
	}
	panic(fmt.Sprintf("%T has no property called name", res))
}
