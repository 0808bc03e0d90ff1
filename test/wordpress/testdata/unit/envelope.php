<?php
// R-BRIDGE-9: an answer is read only in the form that it must have.
require __DIR__ . '/check.php';
load( 'envelope' );
load( 'answer' );

$read = static function ( string $body, int $status = 200, string $type = 'application/json' ) {
	return interlock_bridge_read_envelope( $status, $type, $body );
};
$good = '{"ok":true,"data":{"status":"found"},"error":null,"meta":{"request_id":"r","quota":{"limit":9,"remaining":8,"resets_at":"2027-01-01T00:00:00Z"}}}';
check(
	'an envelope',
	$read( $good ),
	array(
		'ok'         => true,
		'data'       => array( 'status' => 'found' ),
		'error'      => array(
			'code'           => '',
			'detail'         => '',
			'retryable'      => false,
			'retry_after_ms' => 0,
		),
		'request_id' => 'r',
		'quota'      => array(
			'limit'     => 9,
			'remaining' => 8,
			'resets_at' => '2027-01-01T00:00:00Z',
		),
	)
);
check( 'with a charset', null !== $read( $good, 200, 'Application/JSON; charset=utf-8' ), true );
$refused = $read( '{"ok":false,"data":null,"error":{"code":"quota_exceeded","detail":"d","retryable":true,"retry_after_ms":5},"meta":{}}', 429 );
check(
	'a refusal',
	$refused['error'],
	array(
		'code'           => 'quota_exceeded',
		'detail'         => 'd',
		'retryable'      => true,
		'retry_after_ms' => 5,
	)
);
$odd = $read( '{"ok":false,"error":{"code":"a","detail":["x"],"retryable":"yes","retry_after_ms":-5},"meta":{"request_id":7,"quota":{"limit":"x","remaining":1e99}}}', 400 );
check(
	'fields of the wrong kind',
	array( $odd['error'], $odd['request_id'], $odd['quota'] ),
	array(
		array(
			'code'           => 'a',
			'detail'         => '',
			'retryable'      => false,
			'retry_after_ms' => 0,
		),
		'',
		array(
			'limit'     => 0,
			'remaining' => 0,
			'resets_at' => '',
		),
	)
);
foreach ( array( '', 'null', '7', '"x"', '[]', '[true]', '{}', '{"ok":1,"data":{}}', '{"ok":"true","data":{}}', '{"ok":true}', '{"ok":true,"data":null}', '{"ok":true,"data":"x"}', '{"ok":true,"data":{}} x', "\xff", '{"ok":true,"data":{"a":"' . "\xff" . '"}}', str_repeat( '[', 100000 ), str_repeat( ' ', 65536 ) . $good ) as $body ) {
	check( 'body ' . substr( $body, 0, 40 ), $read( $body ), null );
}
foreach ( array( 0, 100, 301, 307, 400, 500 ) as $status ) {
	check( "status $status", $read( $good, $status ), null );
}
foreach ( array( '', 'text/html', 'application/jsonp', 'application/problem+json', 'text/html, application/json' ) as $type ) {
	check( "type $type", $read( $good, 200, $type ), null );
}
foreach ( array( '', '<script>', 'Quota', 'a b', '1a', str_repeat( 'a', 65 ) . '<' ) as $code ) {
	$body = json_encode(
		array(
			'ok'    => false,
			'error' => array( 'code' => $code ),
		)
	);
	// A code that is too long is cut, which leaves one that nobody knows.
	check( "code $code", null === $read( $body, 400 ), strlen( $code ) < 65 );
}

check( 'a long text is cut at characters', interlock_bridge_text( array( 'a' => str_repeat( 'é', 10 ) ), 'a', 3 ), 'ééé' );
check( 'lines are kept', interlock_bridge_text( array( 'a' => "x\ny" ), 'a', 9 ), "x\ny" );

$answer = interlock_bridge_read_answer(
	array(
		'status' => 'found',
		'abn'    => '51824753556',
		'entity' => array(
			'name'           => 'A',
			'business_names' => array_fill( 0, 50, 'n' ),
		),
	),
	'51824753556'
);
check( 'a name', $answer['entity']['name'], 'A' );
check( 'not more than twenty names', count( $answer['names'] ), 20 );
check( 'an answer about another', interlock_bridge_read_answer( array( 'status' => 'found', 'abn' => '51824753556', 'entity' => array( 'name' => 'A' ) ), '53004085616' ), null );
check( 'spaced', interlock_bridge_spaced_abn( '51824753556' ), '51 824 753 556' );
