package emit

import (
	"encoding/json"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// schemaOf reads a schema written as JSON.
func schemaOf(text string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		panic(err)
	}
	return s
}

func expression(parts ...string) model.Expr {
	var e model.Expr
	for i := 0; i < len(parts); i += 3 {
		e = append(e, model.Token{Text: parts[i], Path: parts[i+1], Package: parts[i+2]})
	}
	return e
}

func imports(names ...string) (list []model.Import) {
	for _, name := range names {
		list = append(list, model.Import{Name: name})
	}
	return list
}

func here(text string) model.Expr { return expression(text, "", "") }

func yes() *bool { v := true; return &v }

func no() *bool { v := false; return &v }

const (
	parcelSchema = `{"type":"object","properties":{"id":{"type":"string"},"status":{"type":"string","enum":["booked","sent","arrived"]},"weight":{"type":"integer"}},"required":["id","status"]}`
	bookSchema   = `{"type":"object","properties":{"parcel":{"$ref":"#/$defs/Parcel"},"note":{"type":"object","description":"Note is printed on the ` + "`label`" + `."}},"required":["parcel","note"],"additionalProperties":false,"$defs":{"Parcel":` + parcelSchema + `}}`
)

// testCase is one golden folder: what scan would read from it, written down by hand.
type testCase struct {
	name    string
	service model.Service
	facts   facts
}

func testCases() []testCase {
	return []testCase{freight(), nameCollisions(), relativeRoles(), receivers(), codecs(),
		permissions()}
}

func freight() testCase {
	half := 30 * time.Second
	book := model.Input{Kind: model.StructInput, Type: here("BookInput"), Name: "bookInput",
		Schema: schemaOf(bookSchema)}
	pointed := book
	pointed.Pointer = true
	parcel := model.Output{Kind: model.ObjectOutput, Type: here("Parcel"), Name: "parcel",
		Schema: schemaOf(parcelSchema)}
	desk := func(name string) model.Handler {
		return model.Handler{
			Name: name, Recv: "Desk", PointerRecv: true}
	}
	return testCase{
		name: "freight",
		service: model.Service{
			Package: "example.com/freight", Name: "freight", Module: "example.com",
			Server: model.Server{Name: "freight", Title: "Freight desk", Version: "2.1.0",
				App: "depot"},
			Scopes: model.Scopes{Lines: [][]string{{"freight:all", "freight:read", "freight:write"}}},
			Roles: model.Roles{Chains: [][]string{{"Guest", "Clerk", "DepotManager"},
				{"Auditor", "DepotManager"}}, Own: true},
			Tools: []model.Tool{
				{
					Name: "book_parcel", Const: "ToolBookParcel", Handler: desk("BookParcel"),
					Description: "BookParcel books a parcel.\n\nThe desk answers with the parcel " +
						"as booked: \"<id>\" & all.",
					Access: model.Access{
						MinRole: []string{"Clerk"}, Scopes: []string{"freight:read", "freight:write"},
						OrScopes: [][]string{{"freight:all"}}},
					Denial: "forbid", Hints: model.Hints{Destructive: no()},
					Limits: model.Limits{Timeout: 90 * time.Second}, Input: pointed, Output: parcel,
					Catalogs: []string{"desk", "night \"shift\"`|<b>"},
				},
				{
					Name: "count", Const: "ToolCount", Handler: model.Handler{Name: "Count"},
					Description: "Count counts parcels.",
					Access:      model.Access{Public: true}, Limits: model.Limits{Timeout: half},
					Input: model.Input{Kind: model.NoInput},
					Output: model.Output{Kind: model.ValueOutput, Type: here("int"), Name: "int",
						Schema: schemaOf(
							`{"type":"integer"}`)},
				},
				{
					Name: "find", Const: "ToolFind", Title: "Find parcels", Handler: desk("Find"),
					Description: "Find lists parcels.",
					Access:      model.Access{MinRole: []string{"Guest", "Auditor"}},
					Hints:       model.Hints{ReadOnly: yes()},
					Limits:      model.Limits{Timeout: half}, Catalogs: []string{"desk"},
					Input: model.Input{
						Kind: model.PlainInput, Name: "findInput",
						Params: []model.Param{
							{Name: "status", Go: "status", Field: "Status", Type: here("Status"),
								Required: true},
							{Name: "limit", Go: "limit", Field: "Limit", Type: here("int")},
							{Name: "since", Go: "since", Field: "Since",
								Type: expression("*", "", "", "Time", "time", "time")},
						},
						Schema: schemaOf(
							`{"type":"object","properties":{"status":{"type":"string","enum":["booked","sent","arrived"],"description":"Status is where a parcel is."},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"since":{"type":"string","format":"date-time"}},"required":["status"],"additionalProperties":false}`),
					},
					Output: model.Output{Kind: model.ObjectOutput, Type: here("Page[Parcel]"),
						Name: "pageParcel",
						Schema: schemaOf(
							`{"type":"object","properties":{"items":{"type":"array","items":` +
								parcelSchema +
								`},"next":{"type":"string"}},"required":["items"]}`)},
				},
				{
					Name: "inspect", Const: "ToolInspect",
					Handler: model.Handler{
						Name: "Inspect", Recv: "Desk", PointerRecv: true, SDK: true},
					Description: "Inspect answers in go-sdk's own shape.",
					Access: model.Access{
						Scopes: []string{"freight:read"}, Action: "none",
						OrScopes: [][]string{{"freight:look"}, {"freight:all"}}},
					Denial: "challenge", Limits: model.Limits{Timeout: half},
					Input: book, Output: parcel,
				},
				{
					Name: "purge", Const: "ToolPurge", Handler: desk("Purge"),
					Description: "Purge forgets everything.",
					Access: model.Access{
						MinRole: []string{"DepotManager"}, Action: "purge", Object: "parcel",
						Permission: "depot.purge_parcel", Constrained: true},
					Denial: "conceal", Hints: model.Hints{Destructive: yes()},
					Limits: model.Limits{Timeout: half},
				},
			},
			Ignored:   []model.Ignored{{Handler: "Desk.Sweep", Reason: "the scheduler calls it"}},
			Receivers: []model.Receiver{{Type: "Desk", Pointer: true, Param: "desk"}},
			Scope: []string{"Arrived", "BookInput", "Booked", "Count", "Desk", "ID", "Labels",
				"Note", "Page", "Parcel",
				"Sent", "Stamps", "Status"},
			Imports: imports("context", "mcp", "sync", "time", "unit"),
			HashInputs: model.HashInputs{Decls: map[string][]string{
				".": {"BookInput", "Count", "Desk.BookParcel", "Desk.Find", "Desk.Inspect",
					"Desk.Purge", "ID", "Labels",
					"Page", "Parcel", "Stamps", "Status"},
				"unit": {"Author", "Mass", "Remark"},
			}},
		},
		facts: facts{
			handlers: []string{"Desk.BookParcel", "Count", "Desk.Find", "Desk.Inspect",
				"Desk.Purge"},
			types: []string{"BookInput", "ID", "Labels", "Page", "Parcel", "Stamps", "Status",
				"time.Time",
				"example.com/freight/unit.Mass", "example.com/freight/unit.Remark",
				"example.com/freight/unit.Author"},
			consts: []string{"Booked", "Sent", "Arrived"},
		},
	}
}

func nameCollisions() testCase {
	clock := schemaOf(
		`{"type":"object","properties":{"hour":{"type":"integer","minimum":-128,"maximum":127}},"required":["hour"],"additionalProperties":false}`)
	const other = "example.com/namecollisions/time"
	return testCase{
		name: "namecollisions",
		service: model.Service{
			Package: "example.com/namecollisions", Name: "namecollisions", Module: "example.com",
			Server: model.Server{Name: "namecollisions"},
			Roles: model.Roles{Chains: [][]string{{"table", "Default", "read-only", "admin", "String"}},
				Own: true},
			Tools: []model.Tool{
				{
					Name: "call", Const: "ToolCall", Handler: model.Handler{Name: "call"},
					Description: "call is a handler with the name of a local of generated closures.",
					Access:      model.Access{MinRole: []string{"read-only"}},
					Limits:      model.Limits{Timeout: 30 * time.Second},
					Input: model.Input{Kind: model.StructInput,
						Type: expression("Clock", other, "time"), Name: "clock", Schema: clock},
				},
				{
					Name: "look", Const: "ToolLook",
					Handler:     model.Handler{Name: "Look", Recv: "Table"},
					Description: "Look is answered by a table.",
					Access:      model.Access{MinRole: []string{"Default"}},
					Limits:      model.Limits{Timeout: 30 * time.Second},
					Hints:       model.Hints{OpenWorld: no(), Idempotent: yes()},
					Input: model.Input{
						Kind: model.PlainInput, Name: "lookInput",
						Params: []model.Param{
							{Name: "in", Go: "in", Field: "In", Type: here("string"),
								Required: true},
							{Name: "err", Go: "err", Field: "Err",
								Type: expression("*[]", "", "", "Clock", other, "time")},
						},
						Schema: schemaOf(
							`{"type":"object","properties":{"in":{"type":"string"},"err":{"type":"array","items":{"type":"object"}}},"required":["in"],"additionalProperties":false}`),
					},
					Output: model.Output{Kind: model.ValueOutput, Type: here("[]string"),
						Name: "stringList",
						Schema: schemaOf(
							`{"type":"array","items":{"type":"string"}}`)},
				},
				{
					Name: "wait", Const: "ToolWait",
					Handler:     model.Handler{Name: "Wait", Recv: "Access", PointerRecv: true},
					Description: "Wait is answered by access.",
					Access:      model.Access{MinRole: []string{"table"}},
					Limits:      model.Limits{Timeout: 1500 * time.Millisecond},
					Output: model.Output{Kind: model.ObjectOutput, Type: here("map[string]any"),
						Name: "mapStringAny"},
				},
			},
			Receivers: []model.Receiver{
				{Type: "Access", Pointer: true, Param: "access2"},
				{Type: "Table", Param: "table"},
			},
			Scope: []string{"Access", "Clock", "Table", "access", "call", "ctx", "decodeNoInput",
				"encoding", "err", "in", "json",
				"lookInput", "mcp", "mcpTime", "mcpToolset", "mcpgenHash", "noInputSchema",
				"runGoGenerate", "time",
				"toolset", "validator"},
			Imports: imports("admin", "context"),
			HashInputs: model.HashInputs{Decls: map[string][]string{
				".":    {"Access.Wait", "Table.Look", "call"},
				"time": {"Clock"},
			}},
		},
		facts: facts{
			handlers: []string{"call", "Table.Look", "Access.Wait"},
			types:    []string{"example.com/namecollisions/time.Clock"},
		},
	}
}

func relativeRoles() testCase {
	words := schemaOf(
		"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\",\"description\":\"Text may hold a ` and a | and\\nlines.\",\"default\":\"`\"}},\"required\":[\"text\"],\"additionalProperties\":false}")
	said := schemaOf(
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	in := model.Input{Kind: model.StructInput, Type: here("Words"), Name: "words", Schema: words}
	return testCase{
		name: "relativeroles",
		service: model.Service{
			Package: "example.com/relativeroles", Name: "relativeroles", Module: "example.com",
			Server: model.Server{Name: "relativeroles", Version: "0.1.0"},
			Roles:  model.Roles{Chains: [][]string{{"Viewer", "Member", "Manager", "Admin"}}},
			Tools: []model.Tool{
				{
					Name: "echo", Const: "ToolEcho", Handler: model.Handler{Name: "Echo"},
					Description: "Echo says it again.",
					Access: model.Access{
						MinRole: []string{model.Lowest}, Action: "view", Verb: "list", Permission: "view",
					},
					Limits: model.Limits{Timeout: time.Second},
					Input:  in, Output: model.Output{
						Kind: model.ObjectOutput, Type: here("Words"), Name: "words", Schema: said},
				},
				{
					Name: "shout", Const: "ToolShout", Handler: model.Handler{Name: "Shout"},
					Description: "Shout says it louder.",
					Access:      model.Access{MinRole: []string{model.Highest}},
					Limits:      model.Limits{Timeout: 30 * time.Second},
					Input:       in,
					Output: model.Output{Kind: model.ValueOutput, Type: here("string"),
						Name: "string",
						Schema: schemaOf(
							`{"type":"string"}`)},
				},
			},
			Scope:   []string{"Echo", "Shout", "Words"},
			Imports: imports("context"),
			HashInputs: model.HashInputs{Decls: map[string][]string{
				".": {"Echo", "Shout", "Words"}}},
		},
		facts: facts{handlers: []string{"Echo", "Shout"}, types: []string{"Words"}},
	}
}

func receivers() testCase {
	payment := model.Input{Kind: model.StructInput, Type: here("Payment"), Name: "payment",
		Schema: schemaOf(
			`{"type":"object","properties":{"cents":{"type":"integer"},"level":{"type":"integer"}},"required":["cents","level"],"additionalProperties":false}`)}
	receipt := model.Output{Kind: model.ObjectOutput, Type: here("Receipt"), Name: "receipt",
		Schema: schemaOf(
			`{"type":"object","properties":{"page":{"type":"object"},"from":{"type":"string"},"sign":true},"required":["page","from","sign"]}`)}
	half := model.Limits{Timeout: 30 * time.Second}
	return testCase{
		name: "receivers",
		service: model.Service{
			Package: "example.com/receivers", Name: "receivers", Module: "example.com",
			Server: model.Server{Name: "receivers", Prefix: "shop_"},
			Roles: model.Roles{Chains: [][]string{{"Visitor", "Seller", "Owner"}}, Own: true,
				Type: "Role"},
			Tools: []model.Tool{
				{
					Name: "shop_close", Const: "ToolClose",
					Handler:     model.Handler{Name: "Close", Recv: "Till"},
					Description: "Close closes the till.", Access: model.Access{MinRole: []string{"Owner"}},
					Limits: half,
				},
				{
					Name: "shop_pay", Const: "ToolShelfPay",
					Handler:     model.Handler{Name: "Pay", Recv: "Shelf", Token: "ShelfPayAnnotated"},
					Description: "Pay puts something back and shares its name with the till's.",
					Access:      model.Access{Authenticated: true}, Limits: half, Input: payment,
					Output: receipt,
				},
				{
					Name: "shop_pay_till", Const: "ToolTillPay",
					Handler:     model.Handler{Name: "Pay", Recv: "Till"},
					Description: "Pay takes money.", Access: model.Access{MinRole: []string{"Seller"}},
					Limits: half, Input: payment, Output: receipt,
				},
			},
			Receivers: []model.Receiver{{Type: "Shelf", Param: "shelf"},
				{Type: "Till", Interface: true, Param: "till"}},
			Scope: []string{"Level", "Owner", "Payment", "Receipt", "Role", "Seller", "Shelf",
				"Sign", "Till", "Visitor"},
			Imports: imports("context", "netip", "url"),
			HashInputs: model.HashInputs{Decls: map[string][]string{
				".": {"Level", "Payment", "Receipt", "Role", "Shelf.Pay", "Sign", "Till.Close",
					"Till.Pay"},
			}},
		},
		facts: facts{
			handlers: []string{"Till.Close", "Shelf.Pay", "Till.Pay"},
			types: []string{"Level", "Payment", "Receipt", "Sign", "net/netip.Addr",
				"net/url.URL", "net/url.Userinfo"},
			consts: []string{"Visitor", "Seller", "Owner"},
		},
	}
}
