<?php
/**
 * Reads what the lookup answered. A stranger may have written it: each field is
 * taken only in its expected form, and pages escape it.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Reads the data of a lookup.
 *
 * @param array  $data Data of the envelope.
 * @param string $abn  The number that was asked for.
 * @return array{status: string, abn: string, source: string, as_of: string, newer: string, entity: array<string, string>, names: string[]}|null
 *         Null where it is no answer to that question.
 */
function interlock_bridge_read_answer( array $data, string $abn ) {
	$status = interlock_bridge_text( $data, 'status', 20 );
	if ( ! in_array( $status, array( 'found', 'cancelled', 'not_found' ), true ) || interlock_bridge_text( $data, 'abn', 20 ) !== $abn ) {
		return null;
	}
	$entity = isset( $data['entity'] ) && is_array( $data['entity'] ) ? $data['entity'] : array();
	if ( 'not_found' !== $status && ! $entity ) {
		return null;
	}
	$answer = array(
		'status' => $status,
		'abn'    => $abn,
		'source' => interlock_bridge_text( $data, 'source', 20 ),
		'as_of'  => interlock_bridge_text( $data, 'as_of', 40 ),
		'newer'  => interlock_bridge_text( $data, 'replaced_by', 20 ),
		'entity' => array(),
		'names'  => array(),
	);
	foreach ( array( 'name', 'status', 'status_from', 'type_name', 'acn', 'gst_from', 'state', 'postcode' ) as $field ) {
		$answer['entity'][ $field ] = interlock_bridge_text( $entity, $field, 250 );
	}
	$names = isset( $entity['business_names'] ) && is_array( $entity['business_names'] ) ? array_slice( array_values( $entity['business_names'] ), 0, 20 ) : array();
	foreach ( array_keys( $names ) as $place ) {
		$answer['names'][] = interlock_bridge_text( $names, (string) $place, 250 );
	}
	return $answer;
}

/**
 * The ABN as the register prints it: 51 824 753 556.
 *
 * @param string $abn Eleven digits.
 */
function interlock_bridge_spaced_abn( string $abn ): string {
	return substr( $abn, 0, 2 ) . ' ' . implode( ' ', str_split( substr( $abn, 2 ), 3 ) );
}
