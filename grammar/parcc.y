/* The grammar of the language; grammar/LANGUAGE.md explains it with examples.

   Every rule builds its node in the arena of the compilation. After a syntax error the parser goes on at the next ';'
   or '}' of the block, at the body of the definition, or at the next definition, so that one run shows several errors. */

%define api.pure full
%define api.prefix {parcc_}
%define api.location.type {Loc}
%define parse.error custom
%locations
%parse-param {Parse *p} {void *scanner}
%lex-param {void *scanner}
%expect 0

%code requires {
#include "frontend/parse.h"

// A span keeps the end of its last token where that stands on the same line.
#define YYLLOC_DEFAULT(current, rhs, n)                                                                                \
  do {                                                                                                                 \
    if (n) {                                                                                                           \
      (current) = YYRHSLOC(rhs, 1);                                                                                    \
      if (YYRHSLOC(rhs, n).line == (current).line && YYRHSLOC(rhs, n).end_col > (current).end_col)                     \
        (current).end_col = YYRHSLOC(rhs, n).end_col;                                                                  \
    } else {                                                                                                           \
      (current) = YYRHSLOC(rhs, 0);                                                                                    \
    }                                                                                                                  \
  } while (0)
}

%union {
  const char *text;
  struct { double value; bool is_int; } number;
  AstExpr *expr;
  AstArgs *args;
  AstDecl *decl;
  AstDecls *decls;
  ParseWheres *wheres;
  ParseTargets *targets;
  AstDims *dims;
  AstDim dim;
  AstStmt *stmt;
  struct { AstStmt *first, *last; int len; } chain;
  AstShard *shard;
  AstShardItem *shard_item;
  ParseBlock *block;
  AstDef *def;
}

%code {
int parcc_lex(PARCC_STYPE *value, Loc *loc, void *scanner);
static void parcc_error(Loc *loc, Parse *p, void *scanner, const char *message);
enum { MAX_ELSE_IFS = AST_MAX_NESTING };
#define YYMAXDEPTH 5000
}

%token OP "'op'" LAYER "'layer'" OPTIMIZER "'optimizer'" FN "'fn'" MODEL "'model'" TRAIN "'train'" OPAQUE "'opaque'"
%token SPLIT "'split'" WHERE "'where'" INPUT "'input'" PARAM "'param'" STATE "'state'" UPDATE "'update'" LOSS "'loss'"
%token METRIC "'metric'" FOR "'for'" IN "'in'" IF "'if'" ELSE "'else'" REQUIRE "'require'"
%token AND "'and'" OR "'or'" NOT "'not'" ARROW "'->'" PIPE "'|>'" DOTDOT "'..'" FLOORDIV "'//'"
%token EQ "'=='" NE "'!='" LE "'<='" GE "'>='"
%token <text> NAME "a name" REDUCE "a reduction" STRING "a string"
%token <number> NUMBER "a number"

%type <expr> value value_or_pack expr callee range_opt spread_opt
%type <args> arg_list paren_args bracket_args
%type <decl> decl typed_decl param
%type <decls> params param_list results result_list
%type <wheres> where where_list
%type <targets> names shard_axes
%type <shard> shard shard_items
%type <shard_item> shard_item
%type <dims> split split_list
%type <dim> split_dim
%type <text> def_name opaque_grad
%type <stmt> stmt if_else
%type <chain> if_chain
%type <block> block stmts
%type <def> def

/* An 'else' belongs to the 'if' before it. */
%precedence IF
%precedence ELSE
/* From the loosest to the tightest. A reduction takes one multiplicative term: sum(k) a*b + c is (sum(k) a*b) + c. */
%left OR
%left AND
%precedence NOT
%nonassoc EQ NE '<' LE '>' GE
%nonassoc DOTDOT
%left '+' '-'
%precedence TERM
%left '*' '/' FLOORDIV '%'
%precedence NEGATION
%precedence '[' '.'
%precedence CALL

%%

file:
    %empty
  | file def    { if ($2) vec_push(p->arena, &p->file->defs, $2); }
  | file error
  ;

def:
    OP def_name params ARROW results where block {
      $$ = parse_def(p, AST_OP, @2, $2);
      $$->params = *$3; $$->results = *$5; memcpy(&$$->wheres, $6, sizeof $$->wheres); $$->body = *$7; }
  | LAYER def_name params ARROW results where block {
      $$ = parse_def(p, AST_LAYER, @2, $2);
      $$->params = *$3; $$->results = *$5; memcpy(&$$->wheres, $6, sizeof $$->wheres); $$->body = *$7; }
  | OPTIMIZER def_name params ARROW results where block {
      $$ = parse_def(p, AST_OPTIMIZER, @2, $2);
      $$->params = *$3; $$->results = *$5; memcpy(&$$->wheres, $6, sizeof $$->wheres); $$->body = *$7; }
  | OPAQUE OP def_name params ARROW results where split '=' STRING opaque_grad ';' {
      $$ = parse_def(p, AST_OPAQUE, @3, $3);
      $$->params = *$4; $$->results = *$6; memcpy(&$$->wheres, $7, sizeof $$->wheres); $$->split = *$8;
      $$->function = $10; $$->function_loc = @10; $$->gradient = $11; $$->gradient_loc = @11; }
  | FN def_name params '=' value ';'  { $$ = parse_def(p, AST_FN, @2, $2); $$->params = *$3; $$->value = $5; }
  | MODEL def_name params block       { $$ = parse_def(p, AST_MODEL, @2, $2); $$->params = *$3; $$->body = *$4; }
  | TRAIN block                       { $$ = parse_def(p, AST_TRAIN, @1, NULL); $$->body = *$2; }
  | OP error block                    { $$ = NULL; yyerrok; }
  | LAYER error block                 { $$ = NULL; yyerrok; }
  | OPTIMIZER error block             { $$ = NULL; yyerrok; }
  | MODEL error block                 { $$ = NULL; yyerrok; }
  | TRAIN error block                 { $$ = NULL; yyerrok; }
  | OPAQUE error ';'                  { $$ = NULL; yyerrok; }
  | FN error ';'                      { $$ = NULL; yyerrok; }
  | FN error block                    { $$ = NULL; yyerrok; }
  ;

def_name: NAME | REDUCE ;

split:
    SPLIT '(' ')'                { $$ = NEW(p->arena, AstDims); }
  | SPLIT '(' split_list ')'     { $$ = $3; }
  ;
split_list:
    split_dim                    { $$ = NEW(p->arena, AstDims); vec_push(p->arena, $$, $1); }
  | split_list ',' split_dim     { $$ = $1; vec_push(p->arena, $$, $3); }
  ;
split_dim:
    NAME                         { $$ = (AstDim){.name = $1, .loc = @1}; }
  | NAME DOTDOT                  { $$ = (AstDim){.name = $1, .pack = true, .loc = @$}; }
  ;
opaque_grad:
    %empty                       { $$ = NULL; }
  | NAME STRING {
      $$ = $2; @$ = @2;
      if (!str_eq($1, "grad")) diag_error(@1, "expected 'grad' before '%s'", $1); }
  ;

params:
    '(' ')'                      { $$ = NEW(p->arena, AstDecls); }
  | '(' param_list ')'           { $$ = $2; }
  ;
param_list:
    param                        { $$ = NEW(p->arena, AstDecls); vec_push(p->arena, $$, *$1); }
  | param_list ',' param         { $$ = $1; vec_push(p->arena, $$, *$3); }
  | param_list ';' param         { $$ = $1; vec_push(p->arena, $$, *$3); }
  ;
param:
    typed_decl                   { $$ = parse_no_shard($1); }
  | typed_decl '=' value         { $$ = parse_no_shard($1); $$->value = $3; }
  ;

results:
    result_list
  | '(' result_list ')'          { $$ = $2; }
  ;
result_list:
    typed_decl                   { $$ = NEW(p->arena, AstDecls); vec_push(p->arena, $$, *parse_no_shard($1)); }
  | result_list ',' typed_decl   { $$ = $1; vec_push(p->arena, $$, *parse_no_shard($3)); }
  ;

where:
    %empty                       { $$ = NEW(p->arena, ParseWheres); }
  | WHERE where_list             { $$ = $2; }
  ;
where_list:
    NAME '=' value {
      $$ = NEW(p->arena, ParseWheres); vec_push(p->arena, $$, (AstWhere){$1, $3, @1}); }
  | where_list ',' NAME '=' value { $$ = $1; vec_push(p->arena, $$, (AstWhere){$3, $5, @3}); }
  ;

/* name, name[dims], name[dims]: int, name[dims]: int < range; in statements name[dims] @shard(...) */
decl:
    NAME                         { $$ = parse_decl(p, @1, $1, NULL); }
  | NAME bracket_args            { $$ = parse_decl(p, @1, $1, $2); }
  | NAME bracket_args shard      { $$ = parse_decl(p, @1, $1, $2); $$->shard = $3; }
  ;

/* @shard(co: gpu, h*64: [data, gpu], pin node = 1, replicate gpu) */
shard:
    '@' NAME '(' shard_items ')' {
      $$ = $4; $$->loc = @$;
      if (!str_eq($2, "shard")) diag_error(@2, "unknown annotation '@%s': there is only '@shard(...)'", $2); }
  ;
shard_items:
    shard_item                   { $$ = NEW(p->arena, AstShard); vec_push(p->arena, &$$->items, *$1); }
  | shard_items ',' shard_item   { $$ = $1; vec_push(p->arena, &$$->items, *$3); }
  ;
shard_item:
    NAME ':' shard_axes          { $$ = parse_shard_split(p, @1, $1, 1, $3); }
  | NAME '*' NUMBER ':' shard_axes {
      $$ = parse_shard_split(p, @1, $1, $3.value, $5);
      if (!$3.is_int || $3.value < 1) diag_error(@3, "the unit of a split is a whole number of at least 1"); }
  | NAME NAME '=' NUMBER {
      $$ = parse_shard_word(p, @1, $1, @2, $2); $$->pin = $4.value;
      if (!str_eq($1, "pin")) diag_error(@1, "expected 'pin' before '%s ='", $2);
      if (!$4.is_int) diag_error(@4, "a coordinate is a whole number"); }
  | NAME NAME {
      $$ = parse_shard_word(p, @1, $1, @2, $2);
      if (!str_eq($1, "replicate")) diag_error(@1, "expected ':' after a dimension, 'replicate AXIS' or 'pin AXIS = K'"); }
  ;
shard_axes:
    NAME                         { $$ = NEW(p->arena, ParseTargets); vec_push(p->arena, $$, (AstTarget){$1, @1}); }
  | '[' names ']'                { $$ = $2; }
  ;
typed_decl:
    decl
  | decl ':' NAME range_opt {
      $$ = $1; $$->is_int = true; $$->range = $4;
      if (!str_eq($3, "int")) diag_error(@3, "unknown type '%s': only 'int' is written, everything else is real", $3); }
  ;
range_opt:
    %empty                       { $$ = NULL; }
  | '<' value                    { $$ = $2; }
  ;
/* ~ uniform, ~ zipf(1.05) */
spread_opt:
    %empty                       { $$ = NULL; }
  | '~' value                    { $$ = $2; }
  ;

block:
    '{' stmts '}'                { $$ = $2; }
  | '{' stmts error '}'          { $$ = $2; yyerrok; }
  ;
stmts:
    %empty                       { $$ = NEW(p->arena, ParseBlock); }
  | stmts stmt                   { $$ = $1; if ($2) vec_push(p->arena, $$, $2); }
  | stmts error ';'              { $$ = $1; yyerrok; }
  ;

stmt:
    names '=' value semi {
      $$ = parse_stmt(p, AST_ASSIGN, @1); memcpy(&$$->targets, $1, sizeof $$->targets); $$->value = $3; }
  | OPTIMIZER '=' value semi     { $$ = parse_stmt_value(p, AST_ASSIGN, @1, "optimizer", @1, $3); }
  | NAME NAME '=' value semi     { /* data image = ..., sample token = ...; no other word stands before a name */
      const bool samples = str_eq($1, "sample");
      if (!samples && !str_eq($1, "data")) diag_error(@2, "expected '=' before '%s'", $2);
      $$ = parse_stmt_value(p, samples ? AST_SAMPLE : AST_DATA, @1, $2, @2, $4); }
  | NAME bracket_args '=' value semi {
      $$ = parse_stmt(p, AST_INDEX_STMT, @1); $$->decl = *parse_decl(p, @1, $1, $2); $$->value = $4; }
  | NAME bracket_args shard '=' value semi {
      $$ = parse_stmt(p, AST_INDEX_STMT, @1); $$->decl = *parse_decl(p, @1, $1, $2); $$->decl.shard = $3; $$->value = $5; }
  | INPUT typed_decl spread_opt semi { $$ = parse_stmt(p, AST_INPUT, @1); $$->decl = *$2; $$->decl.spread = $3; }
  | PARAM typed_decl '=' value semi { $$ = parse_stmt(p, AST_PARAM, @1); $$->decl = *$2; $$->decl.value = $4; }
  | STATE typed_decl '=' value semi { $$ = parse_stmt(p, AST_STATE, @1); $$->decl = *$2; $$->decl.value = $4; }
  | UPDATE decl '=' value semi   { $$ = parse_stmt(p, AST_UPDATE, @1); $$->decl = *parse_no_shard($2); $$->value = $4; }
  | LOSS '=' value semi          { $$ = parse_stmt_value(p, AST_LOSS, @1, "loss", @1, $3); }
  | LOSS NAME '=' value semi     { $$ = parse_stmt_value(p, AST_LOSS, @1, $2, @2, $4); }
  | METRIC NAME '=' value semi   { $$ = parse_stmt_value(p, AST_METRIC, @1, $2, @2, $4); }
  | FOR NAME IN value block      { $$ = parse_stmt_value(p, AST_FOR, @1, $2, @2, $4); $$->body = *$5; }
  | FOR error block              { $$ = NULL; yyerrok; }
  | if_else
  | ELSE block                   { $$ = NULL; diag_error(@1, "'else' without an 'if' before it"); }
  | REQUIRE value semi           { $$ = parse_stmt(p, AST_REQUIRE, @1); $$->value = $2; }
  | REQUIRE value ',' STRING semi { $$ = parse_stmt(p, AST_REQUIRE, @1); $$->value = $2; $$->text = $4; }
  ;

/* A missing ';' is reported and taken as read. */
semi: ';' | error ;

if_else:
    if_chain %prec IF            { $$ = $1.first; }
  | if_chain ELSE block          { $$ = $1.first; $1.last->orelse = *$3; }
  ;
if_chain:
    IF value block {
      $$.first = $$.last = parse_stmt(p, AST_IF, @1); $$.len = 1;
      $$.last->value = $2; $$.last->body = *$3; }
  | IF error block {
      $$.first = $$.last = parse_stmt(p, AST_IF, @1); $$.len = 1;
      $$.last->value = parse_number(p, @1, 0, true); yyerrok; }
  | if_chain ELSE IF value block {
      $$ = $1;
      AstStmt *next = parse_stmt(p, AST_IF, @3);
      next->value = $4; next->body = *$5;
      if (++$$.len > MAX_ELSE_IFS) {
        if ($$.len == MAX_ELSE_IFS + 1) diag_error(@3, "more than %d branches of one 'if'", MAX_ELSE_IFS);
      } else {
        vec_push(p->arena, &$$.last->orelse, next);
        $$.last = next;
      } }
  ;

names:
    NAME                         { $$ = NEW(p->arena, ParseTargets); vec_push(p->arena, $$, (AstTarget){$1, @1}); }
  | names ',' NAME               { $$ = $1; vec_push(p->arena, $$, (AstTarget){$3, @3}); }
  ;

/* Expressions. A pack (i..) may stand only directly in brackets or in a reduction. */
value: value_or_pack             { $$ = parse_no_pack(p, $1); } ;

value_or_pack:
    expr
  | value_or_pack PIPE callee    { $$ = parse_pipe(p, parse_no_pack(p, $1), $3); }
  | value_or_pack PIPE callee shard {
      $$ = parse_pipe(p, parse_no_pack(p, $1), $3); $$->shard = $4; }
  ;
callee:
    NAME                         { $$ = parse_call(p, @1, $1, NULL); }
  | REDUCE                       { $$ = parse_call(p, @1, $1, NULL); }
  | NAME paren_args              { $$ = parse_call(p, @$, $1, $2); }
  | REDUCE paren_args            { $$ = parse_call(p, @$, $1, $2); }
  ;

expr:
    NUMBER                       { $$ = parse_number(p, @1, $1.value, $1.is_int); }
  | STRING                       { $$ = parse_string(p, @1, $1); }
  | NAME                         { $$ = parse_name(p, @1, $1); }
  | NAME paren_args              { $$ = parse_call(p, @$, $1, $2); }
  | NAME paren_args shard        { $$ = parse_call(p, @1, $1, $2); $$->shard = $3; }
  | REDUCE paren_args %prec CALL { $$ = parse_call(p, @$, $1, $2); }
  | REDUCE paren_args shard      { $$ = parse_call(p, @1, $1, $2); $$->shard = $3; }
  | REDUCE paren_args expr %prec TERM { $$ = parse_reduce(p, @$, $1, $2, $3); }
  | '(' value ')'                { $$ = $2; }
  | bracket_args                 { $$ = parse_list(p, @1, $1); }
  | expr bracket_args %prec '['  { $$ = parse_index(p, @$, $1, $2); }
  | expr '.' NAME                { $$ = parse_field(p, @$, $1, $3); }
  | expr DOTDOT %prec DOTDOT     { $$ = parse_pack_or_error(p, @$, $1); }
  | expr DOTDOT expr             { $$ = parse_range(p, @$, $1, $3); }
  | '-' expr %prec NEGATION      { $$ = parse_unary(p, @$, AST_NEG, $2); }
  | NOT expr                     { $$ = parse_unary(p, @$, AST_NOT, $2); }
  | expr '+' expr                { $$ = parse_binary(p, @$, AST_ADD, $1, $3); }
  | expr '-' expr                { $$ = parse_binary(p, @$, AST_SUB, $1, $3); }
  | expr '*' expr                { $$ = parse_binary(p, @$, AST_MUL, $1, $3); }
  | expr '/' expr                { $$ = parse_binary(p, @$, AST_DIV, $1, $3); }
  | expr FLOORDIV expr           { $$ = parse_binary(p, @$, AST_FLOORDIV, $1, $3); }
  | expr '%' expr                { $$ = parse_binary(p, @$, AST_MOD, $1, $3); }
  | expr EQ expr                 { $$ = parse_binary(p, @$, AST_EQ, $1, $3); }
  | expr NE expr                 { $$ = parse_binary(p, @$, AST_NE, $1, $3); }
  | expr '<' expr                { $$ = parse_binary(p, @$, AST_LT, $1, $3); }
  | expr LE expr                 { $$ = parse_binary(p, @$, AST_LE, $1, $3); }
  | expr '>' expr                { $$ = parse_binary(p, @$, AST_GT, $1, $3); }
  | expr GE expr                 { $$ = parse_binary(p, @$, AST_GE, $1, $3); }
  | expr AND expr                { $$ = parse_binary(p, @$, AST_AND, $1, $3); }
  | expr OR expr                 { $$ = parse_binary(p, @$, AST_OR, $1, $3); }
  ;

/* A comma may follow the last item. */
paren_args:
    '(' ')'                      { $$ = NEW(p->arena, AstArgs); }
  | '(' arg_list ')'             { $$ = $2; }
  | '(' arg_list ',' ')'         { $$ = $2; }
  ;
bracket_args:
    '[' ']'                      { $$ = NEW(p->arena, AstArgs); }
  | '[' arg_list ']'             { $$ = $2; }
  | '[' arg_list ',' ']'         { $$ = $2; }
  ;
arg_list:
    value_or_pack                { $$ = parse_args(p, NULL, NULL, $1, @1); }
  | NAME '=' value               { $$ = parse_args(p, NULL, $1, $3, @1); }
  | arg_list ',' value_or_pack   { $$ = parse_args(p, $1, NULL, $3, @3); }
  | arg_list ',' NAME '=' value  { $$ = parse_args(p, $1, $3, $5, @3); }
  ;

%%

// Only called when the stack of the parser is full.
static void parcc_error(Loc *loc, Parse *p, void *scanner, const char *message) {
  (void)scanner, (void)message, (void)loc;
  diag_error(p->token, "nested too deeply");
}

static int yyreport_syntax_error(const yypcontext_t *context, Parse *p, void *scanner) {
  (void)scanner;
  yysymbol_kind_t kind[YYNTOKENS];
  const char *expected[YYNTOKENS];
  int n = yypcontext_expected_tokens(context, kind, YYNTOKENS);
  for (int i = 0; i < n; i++)
    expected[i] = yysymbol_name(kind[i]);
  parse_report(p, expected, n, yysymbol_name(yypcontext_token(context)), *yypcontext_location(context));
  return 0;
}
