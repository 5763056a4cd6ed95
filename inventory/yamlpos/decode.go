package yamlpos

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An Option changes how [Decode] works.
type Option func(*decoder)

// Open keeps scalars open for which is reports true: they are neither checked nor set. Such a scalar holds an
// expression that is resolved later, and may replace any type, lists, maps and structs included.
func Open(is func(*Node) bool) Option {
	return func(d *decoder) { d.open = is }
}

// Decode reads n into the value that into points to: a struct, map, list or scalar. It reports all errors at once, as
// [Errors]; correct values are set.
//
// Struct fields are named by their json tag; those without one are ignored. An `also:"a,b"` tag lists other spellings
// of the key, a `hint` tag suggests what to write if the value has the wrong kind. Embedded structs count as part of
// the outer one, pointers are allocated, null means "not given" and keeps the zero value. Whether a key is required is
// not checked.
//
// Strings, and types that implement encoding.TextUnmarshaler, take any scalar: a literal as it is written (0644, yes,
// 1.50), a computed one as text. With the tag `numbers:"refuse"` a computed number is an error, since its spelling is
// lost. Booleans take true and false, and from a literal without quotes also yes, no, on and off. Integers take
// integers, and computed floats without a fraction. A time.Duration takes Go's text ("90s"). An any, and the values of
// a map[string]any, take the result of [Node.Any].
func Decode(n *Node, into any, opts ...Option) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(fmt.Sprintf("yamlpos: Decode into %T, which is not a pointer", into))
	}
	var d decoder
	for _, opt := range opts {
		opt(&d)
	}
	d.value(n, v.Elem(), target{})
	return d.errs.Err()
}

type decoder struct {
	open func(*Node) bool
	errs Errors
}

// A target is the value being set: its path from the root, and its struct field, which for an element is the field of
// the list or map.
type target struct {
	path  string
	field *reflect.StructField
}

func (t target) element(i int) target { return target{fmt.Sprintf("%s[%d]", t.path, i), t.field} }

// key returns the target of a value of a map, which belongs to no field.
func (t target) key(name string) target { return target{path: join(t.path, name)} }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// hint returns the hint tag of the field, the text to write instead of a wrong kind of value.
func (t target) hint() string {
	if t.field == nil {
		return ""
	}
	return t.field.Tag.Get("hint")
}

// String returns the subject of an error, in quotes.
func (t target) String() string {
	if t.path == "" {
		return "the value"
	}
	return strconv.Quote(t.path)
}

// value sets v, which is addressable, to n.
func (d *decoder) value(n *Node, v reflect.Value, t target) {
	if n.Kind == Scalar && (n.Value == nil || d.isOpen(n)) {
		if n.Computed && t.field != nil && v.Kind() != reflect.Interface {
			d.errs.Add(n.Errorf("give it a default, such as Data.x ?? 'y', or remove the property", "%s is null: the expression has no value", t))
		}
		return
	}
	if set := scalarSetter(v.Type()); set != nil {
		d.scalar(n, v, t, set)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem(), t)
	case reflect.Struct:
		d.structure(n, v, t)
	case reflect.Map:
		d.mapping(n, v, t)
	case reflect.Slice:
		d.list(n, v, t)
	case reflect.Interface:
		v.Set(reflect.ValueOf(n.Any()))
	default:
		panic(fmt.Sprintf("yamlpos: %s: cannot decode into %s", t, v.Type()))
	}
}

func (d *decoder) isOpen(n *Node) bool { return d.open != nil && d.open(n) }

func (d *decoder) scalar(n *Node, v reflect.Value, t target, set setter) {
	if n.Kind != Scalar {
		d.errs.Add(n.Errorf(t.hint(), "%s must be a single value, not %s", t, n.Describe()))
		return
	}
	if err := set(n, v, t); err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.Hint == "" {
			e.Hint = t.hint()
		}
		d.errs.Add(err)
		return
	}
}

func (d *decoder) list(n *Node, v reflect.Value, t target) {
	if n.Kind != List {
		d.errs.Add(n.Errorf(listHint(n), "%s must be a list, not %s", t, n.Describe()))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.value(item, list.Index(i), t.element(i))
	}
	v.Set(list)
}

// listHint shows how to write a list instead of one value; commas separate several items.
func listHint(n *Node) string {
	switch {
	case n.Kind != Scalar || n.Text == "" || n.Text != shortened(n.Text):
		return "write a list: - value"
	case plainItem().MatchString(n.Text):
		return "write a list: - " + n.Text
	case plainItems().MatchString(n.Text):
		return "write a list: [" + strings.Join(strings.FieldsFunc(n.Text, isSeparator), ", ") + "]"
	}
	return "write a list: - " + strconv.Quote(n.Text)
}

func isSeparator(r rune) bool { return r == ',' || r == ' ' }

// Texts that need no quotes in a list, and several of them after commas.
var (
	plainItem  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + plainForm + `( ` + plainForm + `)*$`) })
	plainItems = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^` + plainForm + `(\s*,\s*` + plainForm + `)+\s*,?$`)
	})
)

const plainForm = `[\pL\pN_./][\pL\pN_./=#@+-]*`

func (d *decoder) mapping(n *Node, v reflect.Value, t target) {
	if v.Type().Key().Kind() != reflect.String {
		panic(fmt.Sprintf("yamlpos: %s: cannot decode into %s", t, v.Type()))
	}
	if n.Kind != Map {
		d.errs.Add(notMap(n, t))
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.Pairs))
	exact := v.Type().Implements(exactType) && v.Type().Elem().Kind() == reflect.Interface
	for _, p := range n.Pairs {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(p.Value, element, t.key(p.Key.Text))
		if exact && !element.IsNil() {
			element.Set(reflect.ValueOf(p.Value.exact()))
		}
		m.SetMapIndex(reflect.ValueOf(p.Key.Text).Convert(v.Type().Key()), element)
	}
	v.Set(m)
}

// An Exact map of any keeps all digits of its numbers: a number that may not fit into an
// int64 or float64 is a [json.Number].
type Exact interface{ ExactNumbers() }

var exactType = reflect.TypeFor[Exact]()

// exact returns [Node.Any] with the digits of the text.
func (n *Node) exact() any {
	return n.plain(func(n *Node) any {
		if _, isFloat := n.Value.(float64); isFloat && isJSONNumber(n.Text) {
			return json.Number(n.Text)
		}
		return n.Value
	})
}

func notMap(n *Node, t target) *Error {
	return n.Errorf(cmp.Or(t.hint(), "write a map, such as key: value"), "%s must be a map, not %s", t, n.Describe())
}

func (d *decoder) structure(n *Node, v reflect.Value, t target) {
	if n.Kind != Map {
		d.errs.Add(notMap(n, t))
		return
	}
	info := structOf(v.Type())
	given := make(map[int]*Node, len(n.Pairs)) // field → the key that set it
	for _, p := range n.Pairs {
		i, known := info.byName[p.Key.Text]
		switch {
		case !known:
			d.errs.Add(unknownKey(p.Key, info.names, t))
		case given[i] != nil:
			d.errs.Add(p.Key.Errorf("keep one of them", "%q and %q are two spellings of one key",
				join(t.path, given[i].Text), p.Key.Text))
		default:
			given[i] = p.Key
			field := &info.fields[i]
			d.value(p.Value, fieldOf(v, field.Index), target{join(t.path, info.names[i]), field})
		}
	}
}

func unknownKey(key *Node, known []string, t target) *Error {
	in := ""
	if t.path != "" {
		in = " in " + strconv.Quote(t.path)
	}
	if meant := Suggest(key.Text, known); meant != "" {
		return key.Errorf("", "unknown key %q%s (did you mean %q?)", key.Text, in, meant)
	}
	return key.Errorf("known keys: "+strings.Join(known, ", "), "unknown key %q%s", key.Text, in)
}

// A structInfo is the information in the tags of a struct.
type structInfo struct {
	fields []reflect.StructField
	names  []string       // names of fields, from their json tags
	byName map[string]int // names and other spellings → index in fields
}

// structs remembers what reflection found, as it is slow. A type never changes.
var structs sync.Map // reflect.Type → *structInfo

func structOf(t reflect.Type) *structInfo {
	if known, ok := structs.Load(t); ok {
		return known.(*structInfo)
	}
	info := &structInfo{byName: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "-" || name == "" {
			continue
		}
		info.byName[name] = len(info.fields)
		for also := range strings.SplitSeq(f.Tag.Get("also"), ",") {
			if also != "" {
				info.byName[also] = len(info.fields)
			}
		}
		info.fields = append(info.fields, f)
		info.names = append(info.names, name)
	}
	structs.Store(t, info)
	return info
}

// fieldOf finds a field and allocates the embedded pointers on the way to it.
func fieldOf(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
